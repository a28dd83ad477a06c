// The inspector: one flow, its signals one above the other on a shared time axis.

import { axisOption, extentOf, markRoom, markSeries, spanSeries } from './axes';
import {
  baseOption, dispatchZoom, insideZoom, kWhole, legend, makeChart, pngPicture, setOption, tip, tooltipStyle, zoomButtons,
  zoomOf, type Chart, type LegendItem, type Option, type TipRow, type Zoom,
} from './chart';
import type { Columns, Flow, FlowFigure, Mark, Num } from './data';
import { fileName, h } from './dom';
import { onSkip, skipField, skipped } from './skip';
import { ink, looks, theme, type Look, type Theme } from './theme';
import { digits, value } from './units';
import { kPaper, type View, type ViewOptions } from './view';

type Pair = [number, number];

interface Trace {
  name: string;
  unit: string;
  data: Pair[];
  look: Look;
  draw: 'line' | 'points';
  size: number;
  right?: boolean;
}

interface PanelPlan {
  title: string;
  unit: string;
  rightTitle?: string;
  weight: number;
  traces: Trace[];
  marks: Mark[];
  whole: boolean;  ///< the y axis counts things: no fractions
}

interface Rule {
  name: string;
  look: Look;
  data: number[];
}

interface Plan {
  panels: PanelPlan[];
  rules: Rule[];
  end: number;
  start: number;
}

function has(column: Num[] | undefined): column is Num[] {
  return column !== undefined && column.some((v) => v !== null);
}

function pairs(t: Num[] | undefined, y: Num[] | undefined, keep: (i: number) => boolean = () => true): Pair[] {
  const out: Pair[] = [];
  if (!t || !y) return out;
  for (let i = 0; i < t.length; ++i) {
    const at = t[i];
    const v = y[i];
    if (typeof at === 'number' && typeof v === 'number' && keep(i)) out.push([at, v]);
  }
  return out;
}

// What is drawn on the panel of paths or as an RTT; events of any other kind are lines through all panels.
const kDotKinds = new Set(['sent', 'resent', 'ack']);
// More lines than this would hide what is behind them: then they are ticks along the top.
const kMostRules = 120;
const kTickHeight = 9;

function eventLooks(of: Theme): Record<string, Look> {
  const c = ink(of);
  return {
    sent: { color: of === 'dark' ? '#4fb0ee' : '#0072b2', dash: 'solid', symbol: 'circle', width: 1 },
    resent: { color: of === 'dark' ? '#e79ac8' : '#a13c78', dash: 'solid', symbol: 'diamond', width: 1 },
    marked: { color: c.warn, dash: 'solid', symbol: 'triangle', width: 1 },
    loss: { color: c.bad, dash: 'solid', symbol: 'none', width: 1.2 },
    timeout: { color: c.text, dash: [6, 3], symbol: 'none', width: 1.6 },
    nak: { color: of === 'dark' ? '#e79ac8' : '#a13c78', dash: [8, 2, 2, 2], symbol: 'none', width: 1.4 },
    cnp: { color: of === 'dark' ? '#a9adf5' : '#4b4f9e', dash: 'solid', symbol: 'none', width: 1 },
    probe: { color: c.muted, dash: [2, 3], symbol: 'none', width: 1.2 },
    'probe answer': { color: c.muted, dash: [7, 4], symbol: 'none', width: 1 },
  };
}

/// The kinds that are drawn as lines, in the order of the file.
function ruleKinds(flow: Flow): string[] {
  return [...new Set(flow.kinds)].filter((name) => !kDotKinds.has(name));
}

function isKind(flow: Flow, events: Columns, i: number, name: string): boolean {
  const k = events.kind?.[i];
  return typeof k === 'number' && flow.kinds[k] === name;
}

const plans = new WeakMap<Flow, Partial<Record<Theme, Plan>>>();

/// What to draw of a flow. Made once for each theme: moving the zoom asks for it many times a second.
function plan(flow: Flow, of: Theme): Plan {
  let made = plans.get(flow);
  if (!made) plans.set(flow, made = {});
  return made[of] ??= makePlan(flow, of);
}

function makePlan(flow: Flow, of: Theme): Plan {
  const e = eventLooks(of);
  const main = looks([flow], of)[0]!;
  const line: Look = { ...main, dash: 'solid', symbol: 'none', width: 1.8 };
  const second: Look = { color: of === 'dark' ? '#2fc79b' : '#00805e', dash: [7, 3], symbol: 'none', width: 1.6 };
  const sm = flow.samples;
  const ev = flow.events;
  const panels: PanelPlan[] = [];

  const cwnd = has(sm.cwnd) ? pairs(sm.t, sm.cwnd) : ev ? pairs(ev.t, ev.cwnd) : [];
  const rate = pairs(sm.t, sm.rate);
  if (cwnd.length > 0 || rate.length > 0) {
    const traces: Trace[] = [];
    if (cwnd.length > 0) traces.push({ name: 'cwnd', unit: 'B', data: cwnd, look: line, draw: 'line', size: 0 });
    if (rate.length > 0) {
      traces.push({ name: 'rate', unit: 'Gbps', data: rate, look: cwnd.length > 0 ? second : line, draw: 'line', size: 0,
                    right: cwnd.length > 0 });
    }
    panels.push({ title: cwnd.length > 0 ? 'cwnd' : 'rate', unit: cwnd.length > 0 ? 'B' : 'Gbps', weight: 1, traces, marks: [],
                  rightTitle: cwnd.length > 0 && rate.length > 0 ? 'rate' : undefined, whole: false });
  }

  const rtt = has(sm.rtt) ? pairs(sm.t, sm.rtt) : ev ? pairs(ev.t, ev.rtt, (i) => isKind(flow, ev, i, 'ack')) : [];
  const marked = ev && has(ev.rtt) ? pairs(ev.t, ev.rtt, (i) => isKind(flow, ev, i, 'ack') && ev.ecn?.[i] === 1)
    : pairs(sm.t, sm.rtt, (i) => (sm.ecn?.[i] ?? 0) > 0);
  if (rtt.length > 0 || marked.length > 0) {
    const marks: Mark[] = [];
    if (flow.base_rtt !== null) marks.push({ axis: 'y', at: flow.base_rtt, label: `base RTT ${value(flow.base_rtt, 'us')}` });
    if (flow.target !== null) marks.push({ axis: 'y', at: flow.target, label: `target ${value(flow.target, 'us')}` });
    const traces: Trace[] = [];
    if (rtt.length > 0) traces.push({ name: 'RTT', unit: 'us', data: rtt, look: line, draw: 'line', size: 0 });
    if (marked.length > 0) {
      traces.push({ name: 'ECN-marked ack', unit: 'us', data: marked, look: e.marked!, draw: 'points', size: marked.length > 800 ? 4 : 6 });
    }
    panels.push({ title: 'RTT', unit: 'us', weight: 1.2, traces, marks, whole: false });
  } else if (has(sm.qdelay)) {
    panels.push({ title: 'queueing delay', unit: 'us', weight: 1.2, marks: [], whole: false,
                  traces: [{ name: 'queueing delay', unit: 'us', data: pairs(sm.t, sm.qdelay), look: line, draw: 'line', size: 0 }] });
  }

  if (has(sm.gbps)) {
    panels.push({ title: 'throughput', unit: 'Gbps', weight: 1, marks: [], whole: false,
                  traces: [{ name: 'throughput', unit: 'Gbps', data: pairs(sm.t, sm.gbps), look: line, draw: 'line', size: 0 }] });
  }

  const rules: Rule[] = [];
  if (ev) {
    const of_ = (name: string) => pairs(ev.t, ev.path, (i) => isKind(flow, ev, i, name));
    const sent = of_('sent');
    const resent = of_('resent');
    const marks = pairs(ev.t, ev.path, (i) => isKind(flow, ev, i, 'ack') && ev.ecn?.[i] === 1);
    if (sent.length + resent.length + marks.length > 0) {
      const dot = sent.length > 8000 ? 2 : sent.length > 1500 ? 2.6 : 4;
      const traces: Trace[] = [];
      if (sent.length > 0) traces.push({ name: 'sent', unit: 'path', data: sent, look: { ...e.sent!, color: main.color }, draw: 'points', size: dot });
      if (marks.length > 0) traces.push({ name: 'ECN-marked ack', unit: 'path', data: marks, look: e.marked!, draw: 'points', size: dot + 2.5 });
      if (resent.length > 0) traces.push({ name: 'resent', unit: 'path', data: resent, look: e.resent!, draw: 'points', size: dot + 4 });
      panels.push({ title: 'path chosen', unit: 'count', weight: 1.9, traces, marks: [], whole: true });
    }
    for (const name of ruleKinds(flow)) {
      const data: number[] = [];
      (ev.t ?? []).forEach((t, i) => { if (typeof t === 'number' && isKind(flow, ev, i, name)) data.push(t); });
      if (data.length > 0) rules.push({ name, look: e[name] ?? { color: ink(of).muted, dash: [3, 2], symbol: 'none', width: 1.2 }, data });
    }
  }

  let start = Infinity;
  let end = -Infinity;
  const see = (t: number) => { start = Math.min(start, t); end = Math.max(end, t); };
  for (const p of panels) for (const trace of p.traces) for (const [t] of trace.data) see(t);
  for (const r of rules) r.data.forEach(see);
  return { panels, rules, start, end };
}

/// Of the time axis: zero, unless the recording starts late or the reader wants less.
function beginning(start: number, end: number): number {
  if (skipped() > 0 && skipped() < end) return skipped();
  return start > 0.25 * end ? start : 0;
}

const kTop = 10;
const kTitle = 32;
const kBottom = 46;

function flowOption(flow: Flow, fig: FlowFigure, of: Theme, hidden: Set<string>, zoom: Zoom, width: number,
                    height: number, head: number): Option {
  const c = ink(of);
  const { panels, rules, start, end } = plan(flow, of);
  const weights = panels.reduce((sum, p) => sum + p.weight, 0) || 1;
  const room = height - kTop - head - kBottom - panels.length * kTitle;
  const right = Math.max(panels.some((p) => p.rightTitle) ? 64 : 26, ...panels.map((p) => markRoom(p.marks, width)));
  const grids: Option[] = [];
  const titles: Option[] = [];
  const xs: Option[] = [];
  const ys: Option[] = [];
  const series: Option[] = [];
  let top = kTop + head;
  // All panels share one time axis, from zero unless the recording starts late.
  const from = beginning(start, end);
  const span = { min: from, max: end };

  panels.forEach((p, k) => {
    const tall = Math.floor((room * p.weight) / weights);
    const last = k === panels.length - 1;
    const left = p.traces.filter((trace) => !trace.right);
    const extent = extentOf([...left.flatMap((trace) => trace.data.map((d) => d[1])), ...p.marks.map((m) => m.at)], false);
    const y = axisOption({ label: p.title, unit: p.unit, scale: 'linear' }, extent, of, false);
    titles.push({ text: String(y.name), left: 14, top: top + 8, padding: 0, textStyle: { color: c.text, fontSize: 12.5, fontWeight: 600 } });
    grids.push({ left: 62, right, top: top + kTitle - 2, height: Math.max(20, tall - 6) });
    const x = axisOption({ label: 'time', unit: 'us', scale: 'linear' }, span, of, true);
    xs.push({ ...x, gridIndex: k, min: from, max: end > from ? end : from + 1, name: last ? x.name : '',
              axisLabel: { ...(x.axisLabel as Option), show: last, showMaxLabel: false }, axisTick: { ...(x.axisTick as Option), show: last },
              splitLine: { show: true, lineStyle: { color: c.faint } },
              axisPointer: { show: true, type: 'line', lineStyle: { color: c.muted, type: 'solid', width: 1 }, label: { show: false } } });
    // Lines of an axis that shares the panel with another would not meet its ticks.
    ys.push({ ...y, name: '', gridIndex: k, splitNumber: tall > 150 ? 5 : tall > 80 ? 3 : 2,
              ...(p.whole ? { minInterval: 1, min: 0, max: Math.max(1, extent?.max ?? 1),
                              // The last path's number may stand too close to a round one below it.
                              axisLabel: { ...(y.axisLabel as Option), showMaxLabel: (extent?.max ?? 1) <= 5 } } : {}), axisPointer: { show: false } });
    const yIndex = ys.length - 1;
    let rightIndex = -1;
    if (p.rightTitle) {
      const trace = p.traces.find((one) => one.right)!;
      const ry = axisOption({ label: p.rightTitle, unit: trace.unit, scale: 'linear' }, extentOf(trace.data.map((d) => d[1]), false), of, false);
      titles.push({ text: String(ry.name), right: 14, top: top + 8, padding: 0, textStyle: { color: c.text, fontSize: 12.5, fontWeight: 600 } });
      ys.push({ ...ry, name: '', gridIndex: k, position: 'right', splitNumber: tall > 80 ? 3 : 2, splitLine: { show: false }, axisPointer: { show: false } });
      rightIndex = ys.length - 1;
    }
    for (const trace of p.traces) {
      if (hidden.has(trace.name)) continue;
      const shared = { name: trace.name, id: `${k}-${trace.name}`, data: trace.data, xAxisIndex: k, yAxisIndex: trace.right ? rightIndex : yIndex,
                       color: trace.look.color, z: trace.draw === 'line' ? 3 : 4 };
      series.push(trace.draw === 'line'
        ? { ...shared, type: 'line', step: trace.name === 'RTT' ? false : 'end', showSymbol: false,
            lineStyle: { color: trace.look.color, width: trace.look.width, type: trace.look.dash }, emphasis: { disabled: true } }
        : { ...shared, type: 'scatter', symbol: trace.look.symbol, symbolSize: trace.size,
            itemStyle: { color: trace.look.color, opacity: trace.name === 'sent' ? (trace.data.length > 3000 ? 0.5 : 0.75) : 0.95 } });
    }
    series.push(...markSeries(p.marks, of, width, extent ? extent.max : 0, { x: k, y: yIndex }));
    series.push(...spanSeries(fig.spans, { min: from, max: end }, of, { x: k, y: yIndex }, k === 0));
    for (const rule of rules) {
      if (hidden.has(rule.name)) continue;
      series.push({
        type: 'custom', name: rule.name, id: `${k}-rule-${rule.name}`, xAxisIndex: k, yAxisIndex: yIndex, encode: { x: 0, y: -1 },
        data: rule.data.map((t) => [t]), color: rule.look.color, silent: true, z: 2, clip: true, tooltip: { show: false },
        renderItem: (params: { coordSys: { y: number; height: number } },
                     api: { value(d: number): number; coord(v: [number, number]): [number, number] }) => {
          const [x1] = api.coord([api.value(0), 0]);
          const box = params.coordSys;
          const tick = rule.data.length > kMostRules;
          return { type: 'line', shape: { x1, x2: x1, y1: box.y, y2: box.y + (tick ? kTickHeight : box.height) },
                   style: { stroke: rule.look.color, lineWidth: rule.look.width, opacity: 0.65,
                            lineDash: tick || rule.look.dash === 'solid' ? null : rule.look.dash } };
        },
      });
    }
    top += tall + kTitle;
  });

  const byName = new Map<string, { look: Look; unit: string }>();
  for (const p of panels) for (const trace of p.traces) byName.set(`${panels.indexOf(p)}-${trace.name}`, { look: trace.look, unit: trace.unit });
  type Param = { seriesId: string; seriesName: string; seriesType: string; value: unknown; axisValue: number };
  return {
    ...baseOption(`${fig.caption} ${flow.name}`, of),
    title: titles, grid: grids, xAxis: xs, yAxis: ys, series,
    axisPointer: { link: [{ xAxisIndex: 'all' }], triggerTooltip: true },
    dataZoom: [insideZoom(panels.map((_, k) => k), zoom)],
    tooltip: {
      ...tooltipStyle(of), trigger: 'axis',
      formatter: (raw: Param[]) => {
        const rows: TipRow[] = [];
        const seen = new Set<string>();
        for (const p of raw) {
          const known = byName.get(p.seriesId);
          // Many packets may share an instant; one row for each signal is enough.
          if (!known || seen.has(p.seriesId) || !Array.isArray(p.value)) continue;
          seen.add(p.seriesId);
          const [at, v] = p.value as Pair;
          // The nearest mark or packet may be far away, and then it is no part of this moment.
          if (Math.abs(at - p.axisValue) > (end - from) * 0.01) continue;
          rows.push({ look: known.look, name: p.seriesName + (known.unit === 'path' ? ', path' : ''),
                      text: known.unit === 'path' ? String(v) : value(v, known.unit) });
        }
        return rows.length === 0 ? '' : tip(`time: ${value(raw[0]!.axisValue, 'us', 5)}`, rows);
      },
    },
  };
}

/// What happened between two times, counted from the recorded events.
export function countEvents(flow: Flow, from: number, to: number): {
  sent: number; resent: number; acks: number; marked: number; paths: number; others: Map<string, number>;
} {
  const out = { sent: 0, resent: 0, acks: 0, marked: 0, paths: 0, others: new Map(ruleKinds(flow).map((name) => [name, 0])) };
  const paths = new Set<number>();
  const ev = flow.events;
  (ev?.t ?? []).forEach((t, i) => {
    if (typeof t !== 'number' || t < from || t > to) return;
    const kind = flow.kinds[ev!.kind?.[i] ?? -1];
    const path = ev!.path?.[i];
    if (kind === 'sent') ++out.sent;
    if (kind === 'resent') ++out.resent;
    if ((kind === 'sent' || kind === 'resent') && typeof path === 'number') paths.add(path);
    if (kind === 'ack') {
      ++out.acks;
      if (ev!.ecn?.[i] === 1) ++out.marked;
    }
    if (kind !== undefined && out.others.has(kind)) out.others.set(kind, out.others.get(kind)! + 1);
  });
  out.paths = paths.size;
  return out;
}

const kAlwaysCounted = new Set(['loss', 'timeout']);
const kWords: Record<string, [string, string]> = { loss: ['loss', 'losses'], nak: ['NAK', 'NAKs'], cnp: ['CNP', 'CNPs'] };

function many(n: number, one: string, more: string): string {
  return `${digits(n)} ${n === 1 ? one : more}`;
}

export function flowView(fig: FlowFigure, options: ViewOptions): View {
  let at = 0;
  const hidden = new Set<string>();
  const chooser = h('select', { class: 'flow-choice', 'aria-label': 'Flow shown' },
    ...fig.flows.map((f, i) => h('option', { value: i }, f.name)));
  const stats = h('p', { class: 'flow-stats', 'aria-live': 'polite' });
  const legendBox = h('div');
  const box = h('div', { class: 'chart chart-flow', role: 'img', 'aria-label': fig.caption || fig.title });
  const none = h('p', { class: 'no-data', hidden: true }, 'No data of this flow in this result file.');
  const truncated = h('p', { class: 'figure-notice', hidden: true }, 'The recording of this flow was cut: events after its last one here are not shown.');
  const body = h('div', { class: 'chart-body flow' },
    h('div', { class: 'flow-head' }, h('label', { class: 'field' }, h('span', {}, 'Flow'), chooser)),
    truncated, legendBox, none, box, stats);
  let chart: Chart | null = null;

  const flow = (): Flow => fig.flows[at]!;
  const showStats = () => {
    const f = flow();
    if (!f.events || !chart) {
      stats.textContent = f.events ? '' : 'No events of this flow were recorded.';
      return;
    }
    const p = plan(f, theme());
    const from = beginning(p.start, p.end);
    const z = zoomOf(chart);
    const a = from + ((p.end - from) * z.start) / 100;
    const b = from + ((p.end - from) * z.end) / 100;
    const n = countEvents(f, a, b);
    stats.replaceChildren(
      h('span', { class: 'stats-label' }, `Counted from the events shown, ${value(a, 'us')} to ${value(b, 'us')}: `),
      `${many(n.sent, 'packet', 'packets')} sent, ${digits(n.resent)} resent, ${many(n.acks, 'ack', 'acks')}` +
      (n.acks > 0 && has(f.events.ecn) ? ` of which ${value(n.marked / n.acks, 'share', 3)} marked` : '') +
      `, ${many(n.paths, 'path', 'paths')} used` +
      [...n.others].filter(([name, count]) => count > 0 || kAlwaysCounted.has(name))
        .map(([name, count]) => `, ${many(count, ...(kWords[name] ?? [name, `${name}s`] as [string, string]))}`).join('') + '.');
  };
  const height = () => (options.alone ? Math.max(300, box.clientHeight) : box.clientHeight || 720);
  const redraw = (zoom: Zoom) => {
    const empty = plan(flow(), theme()).panels.length === 0;
    box.hidden = empty;
    none.hidden = !empty;
    truncated.hidden = !flow().truncated;
    if (empty) {
      stats.textContent = '';
      return;
    }
    if (!chart) {
      chart = makeChart(box, 'canvas');
      chart.on('datazoom', showStats);
    }
    setOption(chart, flowOption(flow(), fig, theme(), hidden, zoom, box.clientWidth, height(), 0));
    showStats();
  };
  const fillLegend = () => {
    const p = plan(flow(), theme());
    const items = new Map<string, LegendItem>();
    for (const panel of p.panels) {
      for (const trace of panel.traces) {
        if (!items.has(trace.name)) items.set(trace.name, { name: trace.name, look: trace.look, as: trace.draw });
      }
    }
    for (const rule of p.rules) items.set(rule.name, { name: rule.name, look: rule.look, as: 'rule' });
    legendBox.replaceChildren(legend([...items.values()], hidden, () => redraw(chart ? zoomOf(chart) : kWhole)));
  };
  const show = (i: number) => {
    at = i;
    chooser.value = String(i);
    fillLegend();
    redraw(kWhole);
  };
  chooser.addEventListener('change', () => show(Number(chooser.value)));
  onSkip(() => { if (chart) redraw(kWhole); });

  const table = () => {
    const f = flow();
    const sampleColumns = Object.keys(f.samples).filter((n) => n !== 't');
    const eventColumns = Object.keys(f.events ?? {}).filter((n) => n !== 't' && n !== 'kind');
    const columns = [...new Set([...sampleColumns, ...eventColumns])];
    const rows: { t: number; cells: (string | number | null)[] }[] = [];
    const add = (source: Columns, what: (i: number) => string) => {
      (source.t ?? []).forEach((t, i) => {
        if (typeof t === 'number') rows.push({ t, cells: [t, what(i), ...columns.map((n) => source[n]?.[i] ?? null)] });
      });
    };
    add(f.samples, () => 'sample');
    if (f.events) add(f.events, (i) => f.kinds[f.events!.kind?.[i] ?? -1] ?? '');
    rows.sort((a, b) => a.t - b.t);
    return { columns: ['t (us)', 'what', ...columns], count: rows.length, rows: () => rows.map((r) => r.cells) };
  };

  return {
    body,
    tools: [...(options.alone ? [] : [skipField()]),
      zoomButtons(() => (chart ? zoomOf(chart) : kWhole), (zoom) => { if (chart) dispatchZoom(chart, zoom); })],
    open(name) {
      // Called so in its own run, or with the run's name behind it.
      let found = fig.flows.findIndex((f) => f.name === name);
      if (found < 0) found = fig.flows.findIndex((f) => f.name.startsWith(`${name},`));
      if (found < 0) return false;
      show(found);
      return true;
    },
    hasData: fig.flows.some((f) => plan(f, theme()).panels.length > 0),
    remarks: [],
    draw() {
      fillLegend();
      redraw(chart ? zoomOf(chart) : kWhole);
    },
    resize() {
      if (!chart) return;
      chart.resize();
      redraw(zoomOf(chart));
    },
    data() {
      const option = chart?.getOption() as { series?: { id: string; name: string; type: string; data: unknown }[] } | undefined;
      return { flow: flow().name, zoom: chart ? zoomOf(chart) : kWhole,
               series: (option?.series ?? []).filter((one) => !/^(marks|spans)-/.test(one.id))
                 .map((one) => ({ id: one.id, name: one.name, data: one.data })) };
    },
    shown: table,
    all: () => ({ name: fileName(fig.id, flow().name), table: table() }),
    png() {
      const option = flowOption(flow(), fig, kPaper, hidden, chart ? zoomOf(chart) : kWhole, 1000, 900, 40);
      const head = { text: flow().name, left: 14, top: 10, padding: 0,
                     textStyle: { color: ink(kPaper).text, fontSize: 16, fontWeight: 600 } };
      const names = [...new Set((option.series as { name: string }[]).map((one) => one.name).filter((name) => name !== 'marks' && name !== 'failures'))];
      const key = { show: true, right: 14, top: 26, itemWidth: 18, itemHeight: 10, textStyle: { color: ink(kPaper).text }, data: names };
      return pngPicture({ ...option, backgroundColor: '#ffffff', title: [head, ...(option.title as Option[])], legend: key },
        { width: 1000, height: 900 });
    },
    svg: null,
  };
}
