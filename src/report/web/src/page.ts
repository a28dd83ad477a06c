// The page around the figures: header, overview of verdicts, navigation, sections, runs.

import type { Check, Report, Run, Section, Verdict } from './data';
import { button, fragment, h, prose, s } from './dom';
import { frameFigure, type Framed } from './figure';
import { Chosen } from './view';
import { toggleTheme, theme, onTheme } from './theme';
import { digits, kUnknown, value } from './units';

const kWords: Record<Verdict, string> = { reproduced: 'Reproduced', partly: 'Partly', not: 'Not reproduced', open: 'Open' };
const kVerdicts: Verdict[] = ['reproduced', 'partly', 'not', 'open'];

function icon(verdict: Verdict): SVGElement {
  const svg = s('svg', { class: 'verdict-icon', viewBox: '0 0 16 16', width: 16, height: 16, 'aria-hidden': 'true' });
  const shape = (d: string) => s('path', { d, fill: 'none', stroke: 'currentColor', 'stroke-width': 2, 'stroke-linecap': 'round',
                                           'stroke-linejoin': 'round' });
  const ring = () => s('circle', { cx: 8, cy: 8, r: 6, fill: 'none', stroke: 'currentColor', 'stroke-width': 1.8 });
  if (verdict === 'reproduced') svg.append(shape('M3,8.5L6.5,12L13,4.5'));
  if (verdict === 'partly') svg.append(ring(), s('path', { d: 'M8,2a6,6 0 0,1 0,12z', fill: 'currentColor' }));
  if (verdict === 'not') svg.append(shape('M4,4L12,12M12,4L4,12'));
  if (verdict === 'open') {
    const open = ring();
    open.setAttribute('stroke-dasharray', '2.6 2.2');
    svg.append(open);
  }
  return svg;
}

function verdictMark(verdict: Verdict): HTMLElement {
  return h('span', { class: `verdict verdict-${verdict}` }, icon(verdict), h('span', {}, kWords[verdict]));
}

function sectionName(section: Section): string {
  return section.title || section.id;
}

function header(report: Report): HTMLElement {
  const toggle = button('', toggleTheme, { class: 'tool theme-toggle' });
  const label = () => { toggle.textContent = theme() === 'dark' ? 'Light colours' : 'Dark colours'; };
  label();
  onTheme(label);
  const made = report.made;
  const parts: (Node | string)[] = [];
  if (made.version) parts.push(`STrack ${made.version}`);
  if (made.commit) parts.push(h('span', {}, 'commit ', h('code', {}, made.commit.slice(0, 12))));
  if (made.at) parts.push(h('time', { datetime: made.at }, made.at.replace('T', ' ').replace(/Z$/, ' UTC')));
  if (made.command) parts.push(h('code', {}, made.command));
  const line = h('p', { class: 'made' });
  parts.forEach((part, i) => line.append(i > 0 ? h('span', { class: 'dot', 'aria-hidden': 'true' }, ' · ') : '', part));
  return h('header', { class: 'page-head' },
    h('div', { class: 'page-head-inner' },
      h('div', { class: 'head-row' }, h('h1', {}, report.title), toggle),
      ...report.lead.map((text) => h('p', { class: 'lead' }, prose(text))),
      parts.length > 0 ? line : null));
}

function noticeList(report: Report): HTMLElement | null {
  if (report.notices.length === 0) return null;
  return h('section', { class: 'notices', 'aria-label': 'Notices' },
    ...report.notices.map((n) => {
      const warning = n.level === 'warning';
      return h('p', { class: `notice notice-${warning ? 'warning' : 'info'}` },
        h('strong', {}, warning ? 'Warning' : 'Note'), h('span', {}, prose(n.text)));
    }));
}

function text(v: string | null): Node {
  return v === null || v === '' ? h('span', { class: 'unknown' }, kUnknown) : prose(v);
}

function ours(check: Check): HTMLElement {
  return h('td', { class: 'ours' }, text(check.ours),
    check.spread ? h('span', { class: 'spread' }, check.spread) : null);
}

function overview(report: Report): HTMLElement | null {
  const judged = report.sections.filter((one) => one.verdict !== null);
  if (judged.length === 0) return null;
  const counts = kVerdicts.map((v) => ({ verdict: v, count: judged.filter((one) => one.verdict === v).length }));
  const body = h('tbody');
  for (const one of judged) {
    const checks: (Check | null)[] = one.checks.length > 0 ? one.checks : [null];
    checks.forEach((check, i) => {
      const row = h('tr', { class: i === 0 ? 'first' : null });
      if (i === 0) {
        row.append(
          h('th', { scope: 'rowgroup', rowspan: checks.length, class: 'row-id' },
            h('a', { href: `#${one.id}` }, h('span', { class: 'id' }, one.id), h('span', {}, sectionName(one)))),
          h('td', { rowspan: checks.length }, verdictMark(one.verdict!)));
      }
      if (check) row.append(h('td', { class: 'says' }, prose(check.says)), h('td', {}, text(check.paper)), ours(check));
      else row.append(h('td', { class: 'says', colspan: 3 }, one.claim ? prose(one.claim) : ''));
      body.append(row);
    });
  }
  return h('section', { class: 'overview', 'aria-labelledby': 'verdicts-title', id: 'verdicts' },
    h('h2', { id: 'verdicts-title' }, 'Verdicts'),
    h('ul', { class: 'tally' }, ...counts.filter((c) => c.count > 0).map((c) =>
      h('li', { class: `tally-${c.verdict}` }, h('span', { class: 'tally-count' }, digits(c.count)), verdictMark(c.verdict)))),
    h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-labelledby': 'verdicts-title' },
      h('table', { class: 'overview-table' },
        h('caption', { class: 'sr' }, 'Verdict of each section, the number of the paper and ours'),
        h('thead', {}, h('tr', {}, ...['Experiment', 'Verdict', 'What', 'Paper', 'Ours'].map((n) => h('th', { scope: 'col' }, n)))),
        body)));
}

function navigation(report: Report, extra: { id: string; title: string }[]): HTMLElement {
  const groups = new Map<string, Section[]>();
  for (const one of report.sections) groups.set(one.group, [...(groups.get(one.group) ?? []), one]);
  const link = (id: string, content: Node[], title: string) => h('a', { href: `#${id}`, title, 'data-for': id }, ...content);
  const list = h('div', { class: 'nav-list', id: 'nav-list' });
  const first = extra.filter((e) => e.id === 'verdicts');
  if (first.length > 0) {
    list.append(h('ul', {}, ...first.map((e) => h('li', {}, link(e.id, [h('span', {}, e.title)], e.title)))));
  }
  for (const [group, sections] of groups) {
    // A group of one section with the same name needs no heading.
    const alone = sections.length === 1 && sectionName(sections[0]!) === group;
    if (group && !alone) list.append(h('p', { class: 'nav-group' }, group));
    list.append(h('ul', { 'aria-label': group && !alone ? group : null }, ...sections.map((one) => h('li', {}, link(one.id, [
      h('span', { class: 'nav-name' }, sectionName(one)),
      ...(one.verdict ? [h('span', { class: `nav-verdict verdict-${one.verdict}` }, icon(one.verdict),
                           h('span', { class: 'sr' }, kWords[one.verdict]))] : []),
    ], one.verdict ? `${one.id}: ${sectionName(one)}` : sectionName(one))))));
  }
  const last = extra.filter((e) => e.id !== 'verdicts');
  if (last.length > 0) {
    list.append(h('ul', { class: 'nav-last' }, ...last.map((e) => h('li', {}, link(e.id, [h('span', {}, e.title)], e.title)))));
  }
  const nav = h('nav', { class: 'side', 'aria-label': 'Contents' });
  const toggle = button('Contents', () => {
    const open = nav.classList.toggle('open');
    toggle.setAttribute('aria-expanded', String(open));
  }, { class: 'nav-toggle', 'aria-expanded': 'false', 'aria-controls': 'nav-list' });
  list.addEventListener('click', (e) => {
    if (!(e.target as Element).closest('a')) return;
    nav.classList.remove('open');
    toggle.setAttribute('aria-expanded', 'false');
  });
  nav.append(toggle, list);
  return nav;
}

function checksTable(section: Section): HTMLElement | null {
  if (section.checks.length === 0) return null;
  return h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': `Checks of ${sectionName(section)}` },
    h('table', { class: 'checks' },
      h('caption', { class: 'sr' }, `Checks of ${sectionName(section)}`),
      h('thead', {}, h('tr', {}, ...['Check', 'Paper', 'Ours', 'Verdict', 'Rule'].map((n) => h('th', { scope: 'col' }, n)))),
      h('tbody', {}, ...section.checks.map((check) => h('tr', {},
        h('th', { scope: 'row' }, prose(check.says)), h('td', {}, text(check.paper)), ours(check),
        h('td', {}, check.verdict ? verdictMark(check.verdict) : text(null)),
        h('td', { class: 'rule' }, text(check.rule)))))));
}

function plainTable(table: Section['tables'][number]): HTMLElement {
  const align = (i: number) => {
    const a = table.columns[i]?.align;
    return a === 'right' || a === 'center' ? a : null;
  };
  return h('div', { class: 'table-block', id: table.id },
    h('h3', { class: 'table-title', id: `${table.id}-title` }, table.title || table.id),
    table.rows.length === 0 ? h('p', { class: 'no-data' }, 'No data in this result file.')
      : h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-labelledby': `${table.id}-title` },
        h('table', { class: 'plain' },
          h('caption', { class: 'sr' }, table.title),
          h('thead', {}, h('tr', {}, ...table.columns.map((c, i) => h('th', { scope: 'col', class: align(i) }, c.name)))),
          h('tbody', {}, ...table.rows.map((row) => h('tr', {}, ...row.map((cell, i) =>
            h('td', { class: [align(i) ?? (typeof cell === 'number' ? 'right' : ''), String(cell ?? '').length < 28 ? 'short' : ''].join(' ').trim() || null },
              cell === null ? kUnknown : typeof cell === 'number' ? digits(cell) : cell))))))));
}

/// More rows than this are folded away.
const kOpenSettings = 12;

function settingsTable(section: Section): HTMLElement | null {
  if (!section.settings || section.settings.rows.length === 0) return null;
  const table = plainTable(section.settings);
  table.querySelector('h3')?.classList.add('sr');
  return h('details', { class: 'settings', open: section.settings.rows.length <= kOpenSettings },
    h('summary', {}, `${section.settings.title} (${section.settings.rows.length})`), table);
}

/// Sections among which the reader chooses: one is shown at a time. Whoever follows a link to another one sees that.
function chooser(name: string, sections: Section[], elements: HTMLElement[]): HTMLElement {
  const box = h('select', {}, ...sections.map((one, i) => h('option', { value: i }, sectionName(one))));
  const show = (at: number) => {
    box.value = String(at);
    elements.forEach((one, i) => { one.hidden = i !== at; });
    document.dispatchEvent(new Event('reveal'));
  };
  box.addEventListener('change', () => show(Number(box.value)));
  const follow = () => {
    const goal = document.getElementById(fragment());
    const at = goal ? elements.findIndex((one) => one.contains(goal)) : -1;
    if (at < 0 || Number(box.value) === at) return;
    show(at);
    goal!.scrollIntoView({ behavior: 'instant' as ScrollBehavior });
  };
  window.addEventListener('hashchange', follow);
  requestAnimationFrame(follow);  // once all of it is in the page
  elements.forEach((one, i) => { one.hidden = i !== 0; });
  return h('div', { class: 'choice', 'data-choice': name },
    h('label', { class: 'field choice-field' }, h('span', {}, 'Single run shown'), box), ...elements);
}

function sectionElement(section: Section, framed: Framed[]): HTMLElement {
  const titleId = `${section.id}-heading`;
  const chosen = new Chosen();
  const frame = (figure: Section['figures'][number]) => {
    const one = frameFigure(figure, { alone: false, chosen });
    framed.push(one);
    return one.element;
  };
  const drawings = section.figures.filter((figure) => figure.kind === 'topology').map(frame);
  const figures = section.figures.filter((figure) => figure.kind !== 'topology').map(frame);
  // The paper's rows are known by their ids; those of other sections are only anchors.
  const judged = section.verdict !== null || section.claim !== null;
  const hasClaim = section.claim !== null || section.scale !== null;
  return h('section', { class: 'section', id: section.id, 'aria-labelledby': titleId },
    h('div', { class: 'section-head' },
      h('h2', { id: titleId }, ...(judged ? [h('span', { class: 'id' }, section.id), ' '] : []), sectionName(section)),
      section.verdict ? verdictMark(section.verdict) : null),
    hasClaim ? h('div', { class: 'claim' },
      section.claim !== null ? h('p', {}, h('span', { class: 'label' }, 'The paper'), h('span', {}, prose(section.claim))) : null,
      section.scale !== null ? h('p', {}, h('span', { class: 'label' }, 'Our runs'), h('span', {}, prose(section.scale))) : null) : null,
    ...section.scenario.map((p) => h('p', { class: 'explanation' }, prose(p))),
    ...drawings,
    settingsTable(section),
    checksTable(section),
    ...section.explanation.map((p) => h('p', { class: 'explanation' }, prose(p))),
    ...figures,
    ...section.tables.map(plainTable));
}

interface RunColumn {
  key: string;
  name: string;
  show: (run: Run) => string;
}

const asText = (key: string) => (run: Run) => {
  const v = run[key];
  return v === null || v === undefined ? kUnknown : String(v);
};
const asValue = (key: string, unit: string) => (run: Run) => {
  const v = run[key];
  return typeof v === 'number' ? value(v, unit) : kUnknown;
};

// Left out on paper, where the page ends.
const kScreenOnly = new Set(['hash', 'version', 'mean_us', 'ideal_us', 'marks', 'cpu_s']);

const kRunColumns: RunColumn[] = [
  { key: 'name', name: 'Run', show: asText('name') },
  { key: 'scheme', name: 'Scheme', show: asText('scheme') },
  { key: 'seed', name: 'Seed', show: asText('seed') },
  { key: 'status', name: 'Status', show: (run) => asText('status')(run) + (run.partial === true ? ', partial' : '') },
  { key: 'hosts', name: 'Hosts', show: asValue('hosts', 'count') },
  { key: 'what', name: 'Workload', show: asText('what') },
  { key: 'max_us', name: 'Max', show: asValue('max_us', 'us') },
  { key: 'p99_us', name: '99 %', show: asValue('p99_us', 'us') },
  { key: 'mean_us', name: 'Mean', show: asValue('mean_us', 'us') },
  { key: 'ideal_us', name: 'Ideal', show: asValue('ideal_us', 'us') },
  { key: 'slowdown', name: 'Slowdown', show: asValue('slowdown', 'x') },
  { key: 'drops', name: 'Drops', show: asValue('drops', 'count') },
  { key: 'marks', name: 'Marks', show: asValue('marks', 'count') },
  { key: 'retransmissions', name: 'Resent', show: asValue('retransmissions', 'count') },
  { key: 'pause_frames', name: 'Pauses', show: asValue('pause_frames', 'count') },
  { key: 'cpu_s', name: 'CPU', show: (run) => (typeof run.cpu_s === 'number' ? `${digits(run.cpu_s, 3)} s` : kUnknown) },
  { key: 'version', name: 'Version', show: asText('version') },
  { key: 'file', name: 'File', show: asText('file') },
  { key: 'hash', name: 'Hash', show: (run) => asText('hash')(run).slice(0, 12) },
];

function compare(a: Run[string] | undefined, b: Run[string] | undefined): number {
  const unknownA = a === null || a === undefined;
  const unknownB = b === null || b === undefined;
  if (unknownA || unknownB) return Number(unknownA) - Number(unknownB);
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return String(a).localeCompare(String(b), 'en', { numeric: true });
}

function runsTable(report: Report): HTMLElement | null {
  if (report.runs.length === 0) return null;
  const columns = kRunColumns.filter((c) => report.runs.some((run) => run[c.key] !== undefined && run[c.key] !== null));
  const numeric = new Set(columns.filter((c) => report.runs.some((run) => typeof run[c.key] === 'number')).map((c) => c.key));
  const look = (c: RunColumn) => [numeric.has(c.key) ? 'right' : c.key === 'hash' || c.key === 'file' ? 'mono' : '',
    kScreenOnly.has(c.key) ? 'screen-only' : ''].join(' ').trim() || null;
  let by = '';
  let down = false;
  const body = h('tbody');
  const count = h('p', { class: 'table-note', 'aria-live': 'polite' });
  const filter = h('input', { type: 'search', placeholder: 'name, scheme, file...', 'aria-label': 'Filter the runs' });
  const heads = new Map<string, HTMLTableCellElement>();
  const show = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter((w) => w);
    let runs = report.runs.filter((run) => {
      const all = columns.map((c) => c.show(run)).join(' ').toLowerCase();
      return words.every((w) => all.includes(w));
    });
    if (by) {
      runs = [...runs].sort((a, b) => {
        const unknown = Number(a[by] == null) - Number(b[by] == null);
        // What is not known stays at the end, whichever way the rest goes.
        return unknown !== 0 ? unknown : (down ? -1 : 1) * compare(a[by], b[by]);
      });
    }
    for (const [key, th] of heads) th.setAttribute('aria-sort', key === by ? (down ? 'descending' : 'ascending') : 'none');
    count.textContent = runs.length === report.runs.length ? `${digits(runs.length)} ${runs.length === 1 ? 'run' : 'runs'}`
      : `${digits(runs.length)} of ${digits(report.runs.length)} runs`;
    body.replaceChildren(...runs.map((run) => h('tr', { class: run.partial === true ? 'partial' : null }, ...columns.map((c) =>
      h('td', { class: look(c) }, c.show(run))))));
  };
  const headRow = h('tr');
  for (const c of columns) {
    const th = h('th', { scope: 'col', 'aria-sort': 'none', class: look(c) },
      button(c.name, () => {
        down = by === c.key ? !down : false;
        by = c.key;
        show();
      }, { class: 'sort' }));
    heads.set(c.key, th);
    headRow.append(th);
  }
  filter.addEventListener('input', show);
  show();
  return h('section', { class: 'section runs', id: 'runs', 'aria-labelledby': 'runs-heading' },
    h('div', { class: 'section-head' }, h('h2', { id: 'runs-heading' }, 'Runs'),
      report.runs.length > 6 ? h('div', { class: 'filter' }, filter) : null),
    count,
    h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-labelledby': 'runs-heading' },
      h('table', { class: 'plain runs-table' }, h('caption', { class: 'sr' }, 'All runs, sortable by each column'),
        h('thead', {}, headRow), body)));
}

/// Marks in the navigation where the reader is.
function followReader(nav: HTMLElement, targets: HTMLElement[]): void {
  const links = new Map<string, HTMLElement>();
  for (const a of Array.from(nav.querySelectorAll<HTMLElement>('a[data-for]'))) links.set(a.dataset.for!, a);
  let current: HTMLElement | null = null;
  const update = () => {
    let at: HTMLElement | null = null;
    for (const target of targets) {
      if (!target.hidden && target.getBoundingClientRect().top <= 140) at = target;
    }
    const a = at ? links.get(at.id) ?? null : null;
    if (a === current) return;
    current?.removeAttribute('aria-current');
    a?.setAttribute('aria-current', 'true');
    current = a;
    // Keeps the entry in view without moving the page itself.
    const list = nav.querySelector<HTMLElement>('.nav-list');
    if (a && list && list.scrollHeight > list.clientHeight) {
      const top = a.offsetTop - list.offsetTop;
      if (top < list.scrollTop || top > list.scrollTop + list.clientHeight - 40) list.scrollTop = top - 80;
    }
  };
  let waiting = false;
  window.addEventListener('scroll', () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; update(); });
  }, { passive: true });
  update();
}

export function buildPage(report: Report): Framed[] {
  document.title = report.title;
  const framed: Framed[] = [];
  const verdicts = overview(report);
  const runs = runsTable(report);
  const sections = report.sections.map((one) => sectionElement(one, framed));
  const blocks: HTMLElement[] = [];
  for (let i = 0; i < sections.length;) {
    const { choice } = report.sections[i]!;
    let end = i + 1;
    while (choice && report.sections[end]?.choice === choice) ++end;
    if (end - i > 1) blocks.push(chooser(choice, report.sections.slice(i, end), sections.slice(i, end)));
    else blocks.push(sections[i]!);
    i = end;
  }
  const extra = [...(verdicts ? [{ id: 'verdicts', title: 'Verdicts' }] : []), ...(runs ? [{ id: 'runs', title: 'Runs' }] : [])];
  const nav = navigation(report, extra);
  const empty = sections.length === 0 && !runs
    ? h('p', { class: 'no-data' }, 'This report holds no sections and no runs.') : null;
  document.body.replaceChildren(
    h('a', { class: 'skip', href: '#content' }, 'Skip to the content'),
    header(report),
    h('div', { class: 'layout' }, nav,
      h('main', { id: 'content', tabindex: -1 }, noticeList(report), verdicts, empty, ...blocks, runs)));
  followReader(nav, [verdicts, ...sections, runs].filter((e): e is HTMLElement => e !== null));
  return framed;
}

export function buildMessage(error: string, hint: string): void {
  document.title = 'STrack report';
  document.body.replaceChildren(h('main', { class: 'message', id: 'content', role: 'alert' }, h('h1', {}, error), h('p', {}, prose(hint))));
}
