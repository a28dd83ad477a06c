// What the page is given: the types of ../../FORMAT.md, and the reading of them. Whoever made the file may be older or
// newer than this page, or interrupted: a field that is missing becomes an empty one here, so that nothing else has to ask.

export const kKnownFormat = 1;

export type Verdict = 'reproduced' | 'partly' | 'not' | 'open';
export type Num = number | null;

export interface Check {
  says: string;
  paper: string | null;
  ours: string | null;
  spread: string | null;
  verdict: Verdict | null;
  rule: string | null;
}

export interface Axis {
  label: string;
  unit: string;
  scale: 'linear' | 'log' | 'category';
}

export type Point = [number | string, Num, Num?, Num?];

export interface XySeries {
  name: string;
  role: string;
  draw: 'line' | 'step' | 'points';
  dashed: boolean;
  points: Point[];
}

export interface Mark {
  axis: 'x' | 'y';
  at: number;
  label: string;
}

/// When something was broken; without an end it stayed so.
export interface Span {
  from: number;
  until: Num;
  label: string;
}

interface FigureBase {
  id: string;
  title: string;
  caption: string;
  notices: string[];
  spans: Span[];
}

export interface XyFigure extends FigureBase {
  kind: 'xy';
  x: Axis;
  y: Axis;
  series: XySeries[];
  marks: Mark[];
}

export interface BarSeries {
  name: string;
  role: string;
  values: Num[];
  low: Num[];
  high: Num[];
}

export interface BarsFigure extends FigureBase {
  kind: 'bars';
  categories: string[];
  horizontal: boolean;
  y: Axis;
  series: BarSeries[];
  marks: Mark[];
}

export interface Layer {
  id: string;
  label: string;
  unit: string;
  max: number;
  bytes: Uint8Array;
}

export interface Variant {
  name: string;
  tors: number;
  spines: number;
  times: number[];
  layers: Layer[];
  down: [number, number][];
}

export interface FabricFigure extends FigureBase {
  kind: 'fabric';
  variants: Variant[];
}

export type Columns = Record<string, Num[]>;

export interface Flow {
  name: string;
  role: string;
  samples: Columns;
  events: Columns | null;
  kinds: string[];
  base_rtt: Num;
  target: Num;
  truncated: boolean;
}

export interface FlowFigure extends FigureBase {
  kind: 'flow';
  flows: Flow[];
}

export interface HeatCell {
  value: Num;
  text: string;
  note: string;
}

export interface HeatFigure extends FigureBase {
  kind: 'heat';
  value: Axis;
  low: number;
  high: number;
  none: string;
  rows: { name: string; note: string }[];
  columns: string[];
  groups: { name: string; columns: number }[];
  cells: HeatCell[][];
}

export interface Trouble {
  down: boolean;
  from: string;
  to: string;
  text: string;
}

export interface Topology extends FigureBase {
  kind: 'topology';
  hosts: number;
  hosts_per_rack: number;
  racks: number;
  pods: number;
  uppers: number;
  cores_per_agg: number;
  parallel: number;
  host_gbps: Num;
  fabric_gbps: Num;
  core_gbps: Num;
  graph: Graph | null;
  troubles: Trouble[];
}

/// A network from a file. Of many switches not all are there: `levels` says how many each level has.
export interface Graph {
  levels: number[];
  ring: boolean;
  rates: string;
  switches: { name: string; level: number; place: number; hosts: number }[];
  links: { a: number; b: number; count: number; gbps: Num }[];
}

/// A figure whose kind this page does not know, or whose fields make no sense: shown as a message.
export interface BrokenFigure extends FigureBase {
  kind: 'broken';
  why: string;
}

export type Figure = XyFigure | BarsFigure | FabricFigure | FlowFigure | HeatFigure | Topology | BrokenFigure;

export interface PlainTable {
  id: string;
  title: string;
  columns: { name: string; align: string }[];
  rows: (string | number | null)[][];
}

export interface Section {
  id: string;
  title: string;
  group: string;
  verdict: Verdict | null;
  claim: string | null;
  scale: string | null;
  checks: Check[];
  explanation: string[];
  figures: Figure[];
  tables: PlainTable[];
  scenario: string[];
  settings: PlainTable | null;
  choice: string;
}

export type Run = Record<string, string | number | boolean | null>;

export interface Report {
  title: string;
  lead: string[];
  made: Record<string, string>;
  notices: { level: string; text: string }[];
  roles: { name: string; colour: string }[];
  sections: Section[];
  runs: Run[];
}

export type Parsed = { report: Report } | { error: string; hint: string };

type Raw = Record<string, unknown>;

function object(v: unknown): Raw {
  return typeof v === 'object' && v !== null && !Array.isArray(v) ? (v as Raw) : {};
}

function list(v: unknown): unknown[] {
  return Array.isArray(v) ? v : [];
}

function text(v: unknown, otherwise = ''): string {
  return typeof v === 'string' ? v : typeof v === 'number' ? String(v) : otherwise;
}

function textOrNull(v: unknown): string | null {
  return typeof v === 'string' || typeof v === 'number' ? String(v) : null;
}

function num(v: unknown): Num {
  return typeof v === 'number' && Number.isFinite(v) ? v : null;
}

function texts(v: unknown): string[] {
  return list(v).map((one) => text(one)).filter((one) => one !== '');
}

function verdict(v: unknown): Verdict | null {
  return v === 'reproduced' || v === 'partly' || v === 'not' || v === 'open' ? v : null;
}

function axis(v: unknown): Axis {
  const raw = object(v);
  const scale = raw.scale === 'log' || raw.scale === 'category' ? raw.scale : 'linear';
  return { label: text(raw.label), unit: text(raw.unit), scale };
}

function marks(v: unknown): Mark[] {
  const out: Mark[] = [];
  for (const one of list(v).map(object)) {
    const at = num(one.at);
    if (at !== null) out.push({ axis: one.axis === 'x' ? 'x' : 'y', at, label: text(one.label) });
  }
  return out;
}

function spans(v: unknown): Span[] {
  const out: Span[] = [];
  for (const one of list(v).map(object)) {
    const from = num(one.from);
    if (from !== null) out.push({ from, until: num(one.until), label: text(one.label) });
  }
  return out;
}

/// A count of things that are drawn one by one.
function count(v: unknown): number {
  return Math.max(0, Math.floor(num(v) ?? 0));
}

function columns(v: unknown): Columns {
  const out: Columns = {};
  for (const [name, values] of Object.entries(object(v))) out[name] = list(values).map(num);
  return out;
}

function bytesOf(base64: string): Uint8Array {
  const chars = atob(base64);
  const bytes = new Uint8Array(chars.length);
  for (let i = 0; i < chars.length; ++i) bytes[i] = chars.charCodeAt(i);
  return bytes;
}

function point(v: unknown, category: boolean): Point | null {
  const raw = list(v);
  const x = category ? text(raw[0]) : num(raw[0]);
  if (x === null) return null;
  const y = num(raw[1]);
  return raw.length > 2 ? [x, y, num(raw[2]), num(raw[3])] : [x, y];
}

function xySeries(v: unknown, category: boolean): XySeries {
  const raw = object(v);
  const points: Point[] = [];
  for (const one of list(raw.points)) {
    const p = point(one, category);
    if (p) points.push(p);
  }
  const draw = raw.draw === 'step' || raw.draw === 'points' ? raw.draw : 'line';
  return { name: text(raw.name), role: text(raw.role, 'other'), draw, dashed: raw.dashed === true, points };
}

function variant(v: unknown): Variant {
  const raw = object(v);
  const tors = num(raw.tors) ?? 0;
  const spines = num(raw.spines) ?? 0;
  const times = list(raw.times).map((t) => num(t) ?? 0);
  const name = text(raw.name);
  const layers: Layer[] = [];
  for (const one of list(raw.layers).map(object)) {
    const id = text(one.id);
    if (one.encoding !== 'u8') {
      throw new Error(`layer ${id} of ${name} is encoded as "${text(one.encoding)}"; this page reads "u8"`);
    }
    const bytes = bytesOf(text(one.data));
    const want = times.length * tors * spines;
    if (bytes.length !== want) {
      throw new Error(`layer ${id} of ${name} holds ${bytes.length} values; ` +
                      `${times.length} frames of ${tors} x ${spines} links need ${want}`);
    }
    layers.push({ id, label: text(one.label, id), unit: text(one.unit), max: num(one.max) ?? 1, bytes });
  }
  const down: [number, number][] = [];
  for (const one of list(raw.down).map(list)) {
    const tor = num(one[0]);
    const spine = num(one[1]);
    if (tor !== null && spine !== null) down.push([tor, spine]);
  }
  return { name, tors, spines, times, layers, down };
}

function heatCells(v: unknown, rows: number, columns: number): HeatCell[][] {
  const cells = list(v).map((row) => list(row).map(object).map((c) => ({ value: num(c.value), text: text(c.text), note: text(c.note) })));
  if (cells.length !== rows || cells.some((row) => row.length !== columns)) {
    throw new Error(`its cells are not ${rows} rows of ${columns}`);
  }
  return cells;
}

function figure(v: unknown): Figure {
  const raw = object(v);
  const base = { id: text(raw.id), title: text(raw.title), caption: text(raw.caption), notices: texts(raw.notices),
                 spans: spans(raw.spans) };
  try {
    switch (raw.kind) {
      case 'xy': {
        const x = axis(raw.x);
        return {
          ...base, kind: 'xy', x, y: axis(raw.y), marks: marks(raw.marks),
          series: list(raw.series).map((s) => xySeries(s, x.scale === 'category')),
        };
      }
      case 'bars':
        return {
          ...base, kind: 'bars', categories: list(raw.categories).map((c) => text(c)),
          horizontal: raw.horizontal === true, y: axis(raw.y),
          marks: marks(raw.marks),
          series: list(raw.series).map(object).map((s) => ({
            name: text(s.name), role: text(s.role, 'other'),
            values: list(s.values).map(num), low: list(s.low).map(num), high: list(s.high).map(num),
          })),
        };
      case 'fabric':
        return { ...base, kind: 'fabric', variants: list(raw.variants).map(variant) };
      case 'flow':
        return {
          ...base, kind: 'flow',
          flows: list(raw.flows).map(object).map((f) => ({
            name: text(f.name), role: text(f.role, 'other'), samples: columns(f.samples),
            events: f.events === null || f.events === undefined ? null : columns(f.events),
            kinds: texts(f.kinds), base_rtt: num(f.base_rtt), target: num(f.target), truncated: f.truncated === true,
          })),
        };
      case 'heat': {
        const rows = list(raw.rows).map(object).map((r) => ({ name: text(r.name), note: text(r.note) }));
        const columns = list(raw.columns).map((c) => text(c));
        return {
          ...base, kind: 'heat', value: axis(raw.value), low: num(raw.low) ?? 0, high: num(raw.high) ?? 1,
          none: text(raw.none, 'no value'), rows, columns,
          groups: list(raw.groups).map(object).map((g) => ({ name: text(g.name), columns: num(g.columns) ?? 0 })),
          cells: heatCells(raw.cells, rows.length, columns.length),
        };
      }
      case 'topology':
        return {
          ...base, kind: 'topology', hosts: count(raw.hosts), hosts_per_rack: Math.max(1, count(raw.hosts_per_rack)), racks: count(raw.racks),
          pods: count(raw.pods), uppers: count(raw.uppers), cores_per_agg: count(raw.cores_per_agg), parallel: Math.max(1, count(raw.parallel)),
          host_gbps: num(raw.host_gbps), fabric_gbps: num(raw.fabric_gbps), core_gbps: num(raw.core_gbps), graph: graph(raw.graph),
          troubles: list(raw.troubles).map(object).map((t) => ({ down: t.down === true, from: text(t.from), to: text(t.to), text: text(t.text) })),
        };
      default:
        return { ...base, kind: 'broken', why: `This page does not know figures of the kind "${text(raw.kind)}".` };
    }
  } catch (e) {
    return { ...base, kind: 'broken', why: `The data of this figure cannot be read: ${(e as Error).message}.` };
  }
}

function graph(v: unknown): Graph | null {
  if (v === undefined || v === null) return null;
  const raw = object(v);
  const switches = list(raw.switches).map(object).map((one) => ({ name: text(one.name), level: count(one.level), place: count(one.place), hosts: count(one.hosts) }));
  const links = list(raw.links).map(object).map((one) => ({ a: count(one.a), b: count(one.b), count: count(one.count), gbps: num(one.gbps) }));
  return {
    levels: list(raw.levels).map(count), ring: raw.ring === true, rates: text(raw.rates), switches,
    links: links.filter((one) => one.a < switches.length && one.b < switches.length),
  };
}

function plainTable(v: unknown): PlainTable {
  const t = object(v);
  return {
    id: text(t.id), title: text(t.title),
    columns: list(t.columns).map(object).map((c) => ({ name: text(c.name), align: text(c.align, 'left') })),
    rows: list(t.rows).map((row) => list(row).map((cell) =>
      typeof cell === 'number' || typeof cell === 'string' ? cell : null)),
  };
}

function section(v: unknown): Section {
  const raw = object(v);
  return {
    id: text(raw.id), title: text(raw.title), group: text(raw.group),
    verdict: verdict(raw.verdict), claim: textOrNull(raw.claim), scale: textOrNull(raw.scale),
    checks: list(raw.checks).map(object).map((c) => ({
      says: text(c.says), paper: textOrNull(c.paper), ours: textOrNull(c.ours), spread: textOrNull(c.spread),
      verdict: verdict(c.verdict), rule: textOrNull(c.rule),
    })),
    explanation: texts(raw.explanation),
    figures: list(raw.figures).map(figure),
    tables: list(raw.tables).map(plainTable),
    scenario: texts(raw.scenario), settings: raw.settings ? plainTable(raw.settings) : null, choice: text(raw.choice),
  };
}

/// Reads the text of the report-data element, or says in a reader's words why it cannot be shown.
export function parseReport(source: string): Parsed {
  const trimmed = source.trim();
  if (trimmed === '' || trimmed.startsWith('/*')) {
    return { error: 'This report holds no data.', hint: 'It is the empty page. `strack report` fills it with results.' };
  }
  let value: unknown;
  try {
    value = JSON.parse(trimmed);
  } catch (e) {
    return {
      error: 'The data of this report cannot be read.',
      hint: `It is not valid JSON: ${(e as Error).message}. ` +
            'The file may have been cut off while it was written or copied; make the report again.',
    };
  }
  const raw = object(value);
  const format = raw.format;
  if (typeof format !== 'number') {
    return { error: 'The data of this report cannot be read.', hint: 'It does not say which format it has.' };
  }
  if (format > kKnownFormat) {
    return {
      error: 'This report was made by a newer version of STrack.',
      hint: `Its data has format ${format}, and this page knows format ${kKnownFormat}. ` +
            'Make the report again with one version of `strack`.',
    };
  }
  const made: Record<string, string> = {};
  for (const [name, v] of Object.entries(object(raw.made))) made[name] = text(v);
  return {
    report: {
      title: text(raw.title, 'STrack report'), lead: texts(raw.lead), made,
      notices: list(raw.notices).map(object).map((n) => ({ level: text(n.level, 'info'), text: text(n.text) })),
      roles: list(raw.roles).map(object).map((r) => ({ name: text(r.name), colour: text(r.colour) })),
      sections: list(raw.sections).map(section),
      runs: list(raw.runs).map((r) => object(r) as Run),
    },
  };
}
