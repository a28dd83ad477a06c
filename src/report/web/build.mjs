// Bundles the report page into one HTML file that fetches nothing: node build.mjs --out FILE
//
// The C++ side replaces /*REPORT_DATA*/ in it by the data of a report. The policy in the page names the hash of the one
// script, so nothing else in the file can run, whatever a result file holds.

import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const kPlaceholder = '/*REPORT_DATA*/';

function fail(text) {
  console.error(`error: ${text}`);
  process.exit(2);
}

const args = process.argv.slice(2);
if (args.length !== 2 || args[0] !== '--out') fail('usage: node build.mjs --out FILE');
const out = resolve(args[1]);

async function bundle(entry) {
  const result = await build({
    entryPoints: [join(here, 'src', entry)],
    absWorkingDir: here,
    bundle: true,
    minify: true,
    write: false,
    format: 'iife',
    target: ['chrome100', 'firefox100', 'safari15'],
    charset: 'ascii',
    loader: { '.woff2': 'dataurl' },
    legalComments: 'none',
    logLevel: 'warning',
  });
  return result.outputFiles[0].text.trim();
}

const banner = '/* Contains Apache ECharts and zrender, (c) The Apache Software Foundation and others, Apache-2.0 and BSD-3-Clause. */\n';
const fonts = '/* Contains Source Sans 3, Source Serif 4 and Source Code Pro (Latin), SIL Open Font License 1.1. */\n';
const script = banner + (await bundle('main.ts'));
const style = fonts + (await bundle('style.css'));
for (const [name, text] of [['script', script], ['style', style]]) {
  if (/<\/(script|style)|<!--/i.test(text)) fail(`the bundled ${name} would end its element too early: it contains </${name} or <!--`);
  if (text.includes(kPlaceholder)) fail(`the bundled ${name} contains ${kPlaceholder}, which only the data element may`);
}

const hash = 'sha256-' + createHash('sha256').update(script, 'utf8').digest('base64');
const page = readFileSync(join(here, 'src', 'template.html'), 'utf8')
  .replace('@SCRIPT_HASH@', () => hash)
  .replace('@STYLE@', () => style)
  .replace('@SCRIPT@', () => script);
if (page.split(kPlaceholder).length !== 2) fail(`src/template.html must contain ${kPlaceholder} exactly once`);

mkdirSync(dirname(out), { recursive: true });
writeFileSync(out, page);
console.log(`${out}: ${Math.round(page.length / 1000)} KB`);
