// Reports on real results in a real browser: node --test tests/report/result_test.mjs
//
// STRACK_PROGRAM names the program. Small runs are made with it, reported by it, and what each figure draws is compared with
// what SQLite finds in the result files. CHROMIUM and STRACK_SCREENSHOTS are as for page_test.mjs.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { data, kSpace, labelPlace, pixels, shoot, shownCells, startBrowser, withFile } from './browser.mjs';

const kNetwork = '[topology]\nhosts = 64\nhosts_per_rack = 8\n';
const kRecord = '[record]\ninterval_us = 2\nqueues = true\nlinks = true\nflows = 4\ninspect = 2\n';
const kScenarios = {
  'perm.toml': `name = "perm"\n${kNetwork}[workload]\nkind = "permutation"\nsize = "1 MB"\n${kRecord}`,
  'incast.toml': `name = "incast"\n${kNetwork}[workload]\nkind = "incast"\nsize = "500 KB"\nfan_in = 16\n${kRecord}`,
  'jobs.toml': `name = "jobs"\n${kNetwork}[workload]\nkind = "collective"\ncollective = "allreduce-ring"\nsize = "400 KB"\njobs = 8\nranks = 8\n${kRecord}`,
  // Longer than any test wants to wait.
  'long.toml': `name = "long"\n${kNetwork}[workload]\nkind = "random"\nsize = "1 MB"\nload = 0.8\nduration_us = 50000\n` +
               '[record]\ninterval_us = 50\nqueues = true\nlinks = true\nflows = 4\ninspect = 1\n',
};
// A row of the paper's kind, as small as it can be.
const kRow = `[topology]
hosts = 16
hosts_per_rack = 4
[workload]
kind = "permutation"
size = "200 KB"
[record]
interval_us = 2
queues = true
links = true
flows = 2
inspect = 1
[paper]
title = "A small row"
group = "Small"
claim = "Two to one."
section = "Evaluation"
[paper.measures]
flows_done = "SELECT count(*) FROM flows WHERE end_ps IS NOT NULL"
[[paper.runs]]
axes = {"transport.scheme" = ["strack", "rocev2"], "workload.size" = ["100 KB", "200 KB"]}
seeds = [1]
[paper.scale.quick]
axes = {"workload.size" = ["100 KB", "200 KB"]}
seeds = [1]
[[paper.check]]
says = "all flows are done"
value = "SELECT seed, min(flows_done) FROM runs WHERE row = 'A' GROUP BY seed"
paper = 16
reproduced = [16, 16]
[[paper.figure]]
kind = "lines"
title = "By size"
caption = "Smaller is better."
[[paper.figure]]
kind = "fabric"
title = "Replay"
caption = "All links."
where = "seed = 1 AND size = (SELECT max(size) FROM runs)"
[[paper.figure]]
kind = "flow"
title = "One flow"
caption = "Packet by packet."
where = "seed = 1 AND size = (SELECT max(size) FROM runs)"
`;

let program;
let folder;
let browser;

const strack = (...words) => execFileSync(program, words, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], timeout: 120_000 });
const simulate = (scenario, out, ...words) => strack('sim', 'run', scenario, '--quiet', '--out', out, ...words);

const kQuery = `
import json, sqlite3, sys
connection = sqlite3.connect("file:" + sys.argv[1] + "?mode=ro", uri=True)
print(json.dumps(connection.execute(sys.argv[2]).fetchall()))`;

/// What SQLite, not this project, finds in a result file.
const rows = (file, sql) => JSON.parse(execFileSync('python3', ['-c', kQuery, join(folder, file), sql], { encoding: 'utf8', maxBuffer: 64e6 }));

const near = (a, b, off, what) => assert.ok(Math.abs(a - b) <= off, `${what}: ${a} is not ${b}`);
const close = (a, b, what) => near(a, b, Math.max(1e-9, Math.abs(b) * 1e-9), what);

before(async () => {
  const named = process.env.STRACK_PROGRAM;
  if (!named || !existsSync(named)) throw new Error(`STRACK_PROGRAM is ${named ? `${named}, which is not there` : 'not set'}: it names the built strack`);
  program = resolve(named);
  folder = mkdtempSync(join(tmpdir(), 'strack-result-'));
  for (const [name, text] of Object.entries(kScenarios)) writeFileSync(join(folder, name), text);
  simulate('perm.toml', 'strack.db');
  simulate('perm.toml', 'rocev2.db', '--set', 'transport.scheme=rocev2');
  browser = await startBrowser();
});

after(async () => {
  await browser?.close();
  if (folder) rmSync(folder, { recursive: true, force: true });
});

const withReport = (name, body, options = {}) => withFile(browser, join(folder, name), options, body);

/// The steps of a distribution of `column`.
const distribution = (file, table, column) => rows(file,
  `SELECT ${column}, max(c) FROM (SELECT ${column}, cume_dist() OVER (ORDER BY ${column}) AS c FROM ${table}) GROUP BY 1 ORDER BY 1`);

function sameSteps(drawn, wanted, what) {
  assert.deepEqual([drawn[0][1], drawn[0][0] <= drawn[1][0]], [0, true], `${what} begins at nothing`);
  assert.equal(drawn.length - 1, wanted.length, what);
  wanted.forEach(([us, share], i) => {
    close(drawn[i + 1][0], us, `${what}, time ${i}`);
    close(drawn[i + 1][1], share, `${what}, share ${i}`);
  });
}

/// Every event of the inspector's flow beside those of the file.
async function sameEvents(page, id, file, flow) {
  const held = await data(page, id);
  const of = (name) => held.series.find((one) => one.id.endsWith(`-${name}`))?.data ?? [];
  const events = rows(file, `SELECT name, time_ps / 1e6, path, rtt_ps / 1e6, ecn FROM flow_events JOIN event_kinds USING (kind)
    WHERE flow = ${flow} ORDER BY flow_events.rowid`);
  const sent = events.filter(([name]) => name === 'sent');
  assert.ok(sent.length > 100, `${sent.length} packets`);
  const paths = held.series.filter((one) => one.name === 'sent');
  assert.equal(paths.length, 1);
  assert.equal(paths[0].data.length, sent.length, 'packets sent');
  paths[0].data.forEach(([t, path], i) => {
    near(t, sent[i][1], 0.0006, `time of packet ${i}`);
    assert.equal(path, sent[i][2], `path of packet ${i}`);
  });
  const acks = events.filter(([name]) => name === 'ack');
  const marked = acks.filter((one) => one[4] === 1);
  assert.equal(of('ECN-marked ack').length, marked.length);
  for (const kind of ['cnp', 'nak', 'loss', 'probe']) {
    const times = events.filter(([name]) => name === kind);
    const rule = held.series.find((one) => one.id === `0-rule-${kind}`)?.data ?? [];
    assert.equal(rule.length, times.length, kind);
    rule.forEach(([t], i) => near(t, times[i][1], 0.0006, kind));
  }
  const stats = (await page.locator(`[id="${id}"] .flow-stats`).innerText()).replaceAll(kSpace, ' ');
  const used = new Set(events.filter(([name]) => name === 'sent' || name === 'resent').map((one) => one[2])).size;
  assert.ok(stats.includes(`${sent.length} packets sent, `), stats);
  assert.ok(stats.includes(`${acks.length} acks`), stats);
  assert.ok(stats.includes(`${used} path${used === 1 ? '' : 's'} used`), stats);
  return { held, events };
}

describe('two schemes compared', () => {
  before(() => strack('report', 'strack.db', 'rocev2.db', '--out', 'both.html'));

  test('the page opens without a fault and draws every figure', async () => {
    await withReport('both.html', async (page) => {
      // Of single runs one is shown at a time.
      for (const name of ['RoCEv2', 'STrack']) await page.getByLabel('Single run shown').selectOption({ label: name });
      const figures = await page.evaluate(() => Object.entries(window.strackReport.figures).map(([id, one]) => [id, one.drawn]));
      assert.ok(figures.length >= 12, `${figures.length} figures`);
      assert.deepEqual(figures.filter(([, drawn]) => !drawn), []);
      assert.equal(await page.locator('.no-data:visible').count(), 0);
      assert.equal(await page.locator('.notice-warning').count(), 0);
      await shoot(page, 'result-both');
    });
  });

  test('bars are as high as the slowest, the 99th percentile and the mean of the files', async () => {
    await withReport('both.html', async (page) => {
      const held = await data(page, 'perm-bars');
      assert.deepEqual(held.categories, ['max', 'p99', 'mean']);
      const cells = await shownCells(page, 'perm-bars');
      for (const [name, file] of [['STrack', 'strack.db'], ['RoCEv2', 'rocev2.db']]) {
        const [[max, mean]] = rows(file, 'SELECT max(fct_us), avg(fct_us) FROM fct');
        const values = held.series.find((one) => one.name === name).values;
        close(values[0], max, `max of ${name}`);
        near(values[2], mean, 1e-5, `mean of ${name}`);
        const cell = cells.find(([category, series]) => category === 'max' && series === name);
        close(Number(cell[2]), max, 'in the table');
      }
      const [[ideal]] = rows('strack.db', 'SELECT ideal_fct_ps / 1e6 FROM run');
      for (const v of held.series.find((one) => one.name === 'ideal').values) if (v !== null) close(v, ideal, 'ideal');

      // The drawing itself: the first blue bar reaches where the axis has that time.
      const [[max]] = rows('strack.db', 'SELECT max(fct_us) FROM fct');
      const top = await page.locator('#perm-bars .chart svg path[fill="#0072b2"]').first().evaluate((e) => e.getBoundingClientRect().top);
      const ticks = (await page.locator('#perm-bars .chart svg text').allTextContents()).filter((text) => /^\d+$/.test(text)).map(Number);
      const most = Math.max(...ticks);
      const [[, zero], [, full]] = [await labelPlace(page, 'perm-bars', '0'), await labelPlace(page, 'perm-bars', String(most))];
      near(top, zero + ((full - zero) * max) / most, 1.5, 'the top of the bar');
    });
  });

  test('the distributions have a step for each time in the files', async () => {
    await withReport('both.html', async (page) => {
      const held = await data(page, 'perm-cdf');
      for (const [name, file] of [['STrack', 'strack.db'], ['RoCEv2', 'rocev2.db']]) {
        sameSteps(held.series.find((one) => one.name === name).points, distribution(file, 'fct', 'fct_us'), name);
      }
    });
  });

  test('queueing delays are those of the links', async () => {
    await withReport('both.html', async (page) => {
      for (const [name, file] of [['STrack', 'strack.db'], ['RoCEv2', 'rocev2.db']]) {
        const wanted = new Map(rows(file, `SELECT time_ps / 1e6, max(qdelay_max_ps) / 1e6 FROM link_samples JOIN links USING (link)
          WHERE from_node NOT LIKE 'host%' GROUP BY time_ps`));
        await page.getByLabel('Single run shown').selectOption({ label: name });
        const held = await data(page, `perm-${name}-queues`);
        const largest = held.series.find((one) => one.name === 'largest').points;
        assert.ok(largest.length >= wanted.size);
        for (const [x, y] of largest) close(y, wanted.get(x) ?? 0, `${name} at ${x}`);
        assert.ok(Math.max(...wanted.values()) > 0);
        assert.equal(Math.max(...largest.map(([, y]) => y)), Math.max(...wanted.values()));
        const all = new Set(rows(file, 'SELECT DISTINCT time_ps / 1e6, qdelay_max_ps / 1e6 FROM link_samples').map(String));
        const points = held.series.find((one) => one.name === 'links').points;
        assert.ok(points.length > 20 && points.every((p) => all.has(String(p))));
      }
    });
  });

  test('throughput is what was acknowledged in each bin', async () => {
    await withReport('both.html', async (page) => {
      const held = await data(page, 'perm-STrack-throughput');
      assert.equal(held.series.length, 4);
      for (const { name, points } of held.series) {
        const flow = Number(/^flow (\d+):/.exec(name)[1]);
        let from = 0;
        for (const [to, gbps] of points) {
          const [[acked]] = rows('strack.db', `SELECT coalesce(sum(acked_bytes), 0) FROM flow_samples WHERE flow = ${flow}
            AND time_ps > ${Math.round(from * 1e6)} AND time_ps <= ${Math.round(to * 1e6)}`);
          near(gbps, (acked * 8) / ((to - from) * 1000), 1e-6, `${name} until ${to}`);
          from = to;
        }
        const [[all]] = rows('strack.db', `SELECT sum(acked_bytes) FROM flow_samples WHERE flow = ${flow}`);
        assert.equal(all, 1_000_000);
      }
    });
  });

  test('the replay shows each link as the file has it, and moves', async () => {
    await withReport('both.html', async (page) => {
      const box = page.locator('#perm-fabric');
      const slider = box.locator('input[type=range]');
      const files = { 'STrack': 'strack.db', 'RoCEv2': 'rocev2.db' };
      const samples = {};
      for (const [name, file] of Object.entries(files)) {
        samples[name] = new Map(rows(file, `SELECT time_ps / 1e6, from_node, to_node, carried_bytes, qdelay_max_ps / 1e6, rate_bps
          FROM link_samples JOIN links USING (link) WHERE from_node LIKE 'tor%' AND to_node LIKE 'spine%'`)
          .map(([t, tor, spine, ...rest]) => [`${t} ${tor.split(' ')[1]} ${spine.split(' ')[1]}`, rest]));
        assert.ok(samples[name].size > 50);
      }
      const report = JSON.parse(await page.evaluate(() => JSON.stringify(window.strackReport.data('perm-fabric').shown.map((v) => [v.name, v.tors, v.spines]))));
      assert.deepEqual(report, [['STrack', 8, 8], ['RoCEv2', 8, 8]]);
      const last = Number(await slider.getAttribute('max'));
      assert.ok(last > 10, `${last + 1} frames`);
      let carried = 0;
      const drawings = new Set();
      for (const frame of [0, 3, Math.floor(last / 2), last]) {
        await slider.fill(String(frame));
        drawings.add(await pixels(page, '#perm-fabric canvas'));
        for (const layer of ['up-use', 'up-queue']) {
          await box.getByLabel('Layer').selectOption(layer);
          const held = await data(page, 'perm-fabric');
          assert.equal(held.frame, frame);
          for (const shown of held.shown) {
            const { time } = shown;
            const span = time - shown.before;
            shown.bytes.forEach((byte, i) => {
              const [bytes, qdelay, rate] = samples[shown.name].get(`${time} ${Math.floor(i / 8)} ${i % 8}`) ?? [0, 0, 1];
              if (layer === 'up-use') {
                near(byte / 255, Math.min(1, (bytes * 8) / (rate * span * 1e-6)), 1 / 255, `${shown.name}, link ${i}, at ${time}`);
                carried += bytes;
              } else {
                near((byte / 255) * shown.max, qdelay, shown.max / 255, `${shown.name}, queue ${i}, at ${time}`);
              }
            });
          }
        }
        await box.getByLabel('Layer').selectOption('up-use');
      }
      assert.ok(carried > 0, 'some link carried something');
      assert.ok(drawings.size >= 3, 'the drawing changes with the slider');
      await slider.fill('0');
      await slider.focus();
      await page.keyboard.press('ArrowRight');
      assert.equal((await data(page, 'perm-fabric')).frame, 1);
      await shoot(page, 'result-fabric', '#perm-fabric');
    });
  });

  test('the inspector has every packet of the flows, of both schemes, and zooms', async () => {
    await withReport('both.html', async (page) => {
      const box = page.locator('#perm-flows');
      const names = await box.getByLabel('Flow shown').locator('option').allInnerTexts();
      assert.equal(names.length, 4);
      const first = await sameEvents(page, 'perm-flows', 'strack.db', 0);
      assert.ok(new Set(first.events.filter(([name]) => name === 'sent').map((one) => one[2])).size > 8, 'STrack sprays');
      // A flow that has ended has no window any more.
      const samples = rows('strack.db', 'SELECT time_ps / 1e6, cwnd_bytes FROM flow_samples WHERE flow = 0 AND cwnd_bytes > 0 ORDER BY time_ps');
      const cwnd = first.held.series.find((one) => one.name === 'cwnd').data;
      assert.equal(cwnd.length, samples.length);
      cwnd.forEach(([t, bytes], i) => {
        near(t, samples[i][0], 0.0006, 'time of a sample');
        assert.equal(bytes, samples[i][1]);
      });
      const rtts = new Set(rows('strack.db', 'SELECT DISTINCT round(rtt_ps / 1e6, 3) FROM flow_samples WHERE flow = 0 AND rtt_ps > 0').map(([v]) => v));
      for (const [, v] of first.held.series.find((one) => one.name === 'RTT').data) assert.ok(rtts.has(Number(v.toFixed(3))), `RTT ${v}`);

      const whole = await pixels(page, '#perm-flows canvas');
      await box.getByRole('button', { name: 'Zoom in' }).click();
      assert.deepEqual((await data(page, 'perm-flows')).zoom, { start: 25, end: 75 });
      assert.notEqual(await pixels(page, '#perm-flows canvas'), whole);
      await box.getByLabel('Flow shown').selectOption(String(names.findIndex((name) => /^flow 1.*RoCEv2/.test(name))));
      const other = await sameEvents(page, 'perm-flows', 'rocev2.db', 1);
      assert.equal(new Set(other.events.filter(([name]) => name === 'sent').map((one) => one[2])).size, 1, 'RoCEv2 stays on its path');
      await shoot(page, 'result-inspector', '#perm-flows');
    });
  });

  test('the table of runs has the numbers of the files', async () => {
    await withReport('both.html', async (page) => {
      const text = (await page.locator('#runs tbody').innerText()).replaceAll(kSpace, ' ');
      for (const file of ['strack.db', 'rocev2.db']) {
        const [[max]] = rows(file, 'SELECT max(fct_us) FROM fct');
        const [[hash]] = rows(file, 'SELECT hash FROM run');
        assert.ok(text.includes(`${Number(max.toPrecision(4))} µs`), `${max} in ${text}`);
        assert.ok(text.includes(hash.slice(0, 12)), hash);
      }
    });
  });
});

describe('other workloads, each alone', () => {
  test('a permutation', async () => {
    strack('report', 'strack.db', '--out', 'alone.html');
    await withReport('alone.html', async (page) => {
      sameSteps((await data(page, 'perm-cdf')).series[0].points, distribution('strack.db', 'fct', 'fct_us'), 'one run');
      const figures = await page.evaluate(() => Object.entries(window.strackReport.figures).map(([id, one]) => [id, one.drawn]));
      assert.deepEqual(figures.filter(([, drawn]) => !drawn), []);
      assert.match(await page.title(), /perm: STrack, 1 MB, seed 1/);
    });
  });

  test('an incast', async () => {
    simulate('incast.toml', 'incast.db');
    strack('report', 'incast.db', '--out', 'incast.html');
    await withReport('incast.html', async (page) => {
      const ids = await page.evaluate(() => Object.keys(window.strackReport.figures));
      sameSteps((await data(page, 'incast-cdf')).series[0].points, distribution('incast.db', 'fct', 'fct_us'), 'incast');
      // The deepest queue is at the last hop, and drawn sample by sample.
      const [[link, from, to]] = rows('incast.db', `SELECT link, from_node, to_node FROM link_samples JOIN links USING (link)
        WHERE from_node NOT LIKE 'host%' ORDER BY qdelay_max_ps DESC, time_ps LIMIT 1`);
      assert.match(to, /^host/);
      const id = ids.find((one) => /deepest-queue$/.test(one));
      assert.ok((await page.locator(`[id="${id}-title"]`).innerText()).includes(`${from} to ${to}`));
      const wanted = new Map(rows('incast.db', `SELECT time_ps / 1e6, qdelay_max_ps / 1e6 FROM link_samples WHERE link = ${link}`));
      const drawn = (await data(page, id)).series[0].points;
      assert.ok(drawn.length > 20);
      for (const [x, y] of drawn) close(y, wanted.get(x) ?? 0, `queue at ${x}`);
      assert.equal(Math.max(...drawn.map(([, y]) => y)), Math.max(...wanted.values()));
      await sameEvents(page, ids.find((one) => /-flows$/.test(one)), 'incast.db', 0);
      await shoot(page, 'result-incast', `[id="${id}"]`);
    });
  });

  test('collectives', async () => {
    simulate('jobs.toml', 'jobs.db');
    strack('report', 'jobs.db', '--out', 'jobs.html');
    await withReport('jobs.html', async (page) => {
      sameSteps((await data(page, 'jobs-cdf')).series[0].points, distribution('jobs.db', 'job_times', 'time_us'), 'jobs');
      const text = (await page.locator('#runs tbody').innerText()).replaceAll(kSpace, ' ');
      const [[slowest]] = rows('jobs.db', 'SELECT max(time_us) FROM job_times');
      assert.ok(text.includes(`${Number(slowest.toPrecision(4))} µs`), text);
    });
  });

  test('sizes make a curve', async () => {
    const files = {};
    for (const [size, bytes] of [['100 KB', 100_000], ['400 KB', 400_000]]) {
      for (const scheme of ['strack', 'rocev2']) {
        const out = `${scheme}-${bytes}.db`;
        simulate('perm.toml', out, '--set', `workload.size=${size}`, '--set', `transport.scheme=${scheme}`);
        files[`${scheme} ${bytes}`] = out;
      }
    }
    strack('report', ...Object.values(files), '--out', 'sizes.html');
    await withReport('sizes.html', async (page) => {
      const held = await data(page, 'perm-by-size');
      for (const [name, scheme] of [['STrack', 'strack'], ['RoCEv2', 'rocev2']]) {
        const { points } = held.series.find((one) => one.name === name);
        assert.deepEqual(points.map(([x]) => x), [100_000, 400_000]);
        for (const [x, y] of points) close(y, rows(files[`${scheme} ${x}`], 'SELECT max(fct_us) FROM fct')[0][0], `${name}, ${x}`);
      }
      const texts = await page.locator('#perm-by-size .chart svg text').allTextContents();
      for (const label of ['100 KB', '400 KB']) assert.ok(texts.includes(label.replace(' ', kSpace)), texts.join('|'));
    });
  });
});

describe('a plan', () => {
  test('has every network under every transport at its cost, bars from zero, and fits a phone', async () => {
    writeFileSync(join(folder, 'plan.toml'), `scenario = "jobs.toml"
schemes = ["strack", "rocev2"]
[cost]
switch_port = 10
[[network]]
name = "1:1"
[[network]]
name = "2:1"
set = ["topology.oversubscription=2:1"]
[[failure]]
name = "spine dead"
set = ["failure.0.switch=spine 0"]
`);
    const options = JSON.parse(strack('plan', 'plan.toml', '--json'));
    assert.equal(options.length, 4);
    const page_ = 'results/plan-plan/plan.html';
    for (const width of [1440, 390]) {
      for (const colorScheme of ['light', 'dark']) {
        await withReport(page_, async (page) => {
          const held = await data(page, 'plan-pareto');
          for (const [name, scheme] of [['STrack', 'strack'], ['RoCEv2', 'rocev2']]) {
            const wanted = options.filter((one) => one.scheme === scheme).map((one) => [one.cost, one.step_us.median]);
            assert.deepEqual(held.series.find((one) => one.name === name).points.map(([x, y]) => [x, y]), wanted);
          }
          const ticks = await page.locator('#plan-failures .chart svg text').allTextContents();
          assert.ok(ticks.some((text) => text === '0x'), ticks.join('|'));
          assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= width);
          await shoot(page, `result-plan-${width}-${colorScheme}`);
        }, { viewport: { width, height: 900 }, colorScheme });
      }
    }
  });
});

describe('a run that was interrupted', () => {
  test('is shown as far as it came, and the page says so', async () => {
    const child = spawn(program, ['sim', 'run', 'long.toml', '--out', 'cut.db'], { cwd: folder, stdio: 'ignore' });
    const ended = new Promise((done) => { child.on('exit', done); });
    try {
      for (let i = 0; ; ++i) {
        assert.ok(i < 600, 'no flow finished within a minute');
        await new Promise((done) => { setTimeout(done, 100); });
        try {
          if (rows('cut.db', 'SELECT count(*) FROM flows WHERE end_ps IS NOT NULL')[0][0] > 0) break;
        } catch { /* not there yet */ }
      }
      child.kill('SIGINT');
      await ended;
    } finally {
      child.kill('SIGKILL');
    }
    const [[status, done, all]] = rows('cut.db', 'SELECT status, (SELECT count(*) FROM fct), flows FROM run');
    assert.notEqual(status, 'finished');
    assert.ok(done > 0 && done < all, `${done} of ${all} flows`);
    strack('report', 'cut.db', '--out', 'cut.html');
    await withReport('cut.html', async (page) => {
      const notice = page.locator('.notice-warning').first();
      assert.match(await notice.innerText(), /cut\.db: partial: the run was interrupted/);
      assert.ok((await notice.boundingBox()).y < 900, 'it is seen without scrolling');
      assert.match(await page.locator('#runs tr.partial').innerText(), /partial: interrupted/);
      const drawn = (await data(page, 'long-cdf')).series[0].points;
      close(drawn.at(-1)[0], rows('cut.db', 'SELECT max(fct_us) FROM fct')[0][0], 'the slowest that finished');
      await shoot(page, 'result-cut');
    });
  });
});

describe('a report on the paper', () => {
  test('opens, with verdicts and the numbers of its runs', async () => {
    mkdirSync(join(folder, 'scenarios/paper'), { recursive: true });
    writeFileSync(join(folder, 'scenarios/paper/A.toml'), kRow);
    writeFileSync(join(folder, 'scenarios/paper/ORDER'), 'A\n');
    strack('paper', 'run', '--scale', 'quick');
    strack('paper', 'report', '--scale', 'quick');
    const page_ = 'results/paper-quick/report.html';
    await withReport(page_, async (page) => {
      assert.equal(await page.locator('#A .verdict').first().innerText(), 'Reproduced');
      assert.equal(await page.locator('#overview-section h2 .id').count(), 0, 'an anchor is no name');
      assert.equal(await page.locator('#A h2 .id').innerText(), 'A');
      const ids = await page.evaluate(() => [...document.querySelectorAll('[id]')].map((e) => e.id).filter((id) => !/^zr/.test(id)));
      assert.deepEqual(ids.filter((id, i) => ids.indexOf(id) !== i), []);
      const held = await data(page, 'A-1');
      const results = JSON.parse(execFileSync('python3', ['-c', 'import glob,json; print(json.dumps(glob.glob("results/paper-quick/A/*.db")))'],
        { cwd: folder, encoding: 'utf8' }));
      assert.equal(results.length, 4);
      const wanted = results.map((file) => rows(file, 'SELECT scheme, flow_bytes, (SELECT max(fct_us) FROM fct) FROM run')[0]);
      for (const [name, scheme] of [['STrack', 'strack'], ['RoCEv2', 'rocev2']]) {
        const ys = held.series.find((one) => one.name === name).points.map(([, y]) => y).sort((a, b) => a - b);
        const times = wanted.filter(([s]) => s === scheme).map(([, , us]) => us).sort((a, b) => a - b);
        ys.forEach((y, i) => close(y, times[i], `${name} ${i}`));
      }
      const slider = page.locator('[id="A-2"] input[type=range]');
      await slider.fill('1');
      assert.equal((await data(page, 'A-2')).frame, 1);
      assert.ok((await data(page, 'A-3')).series.some((one) => one.name === 'sent' && one.data.length > 10));
      await shoot(page, 'result-paper');
    });
    assert.ok(readFileSync(join(folder, page_), 'utf8').includes('strack paper report'));
  });
});
