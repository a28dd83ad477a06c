// Axes: which values carry a tick, and what is written at it.

import type { Axis, Mark, Span } from './data';
import { ink, type Theme } from './theme';
import { axisUnit, sizeName, value } from './units';
import type { Option } from './chart';

export interface Extent {
  min: number;
  max: number;
}

export function extentOf(values: Iterable<number | null | undefined>, positive: boolean): Extent | null {
  let min = Infinity;
  let max = -Infinity;
  for (const v of values) {
    if (v === null || v === undefined || (positive && v <= 0)) continue;
    if (v < min) min = v;
    if (v > max) max = v;
  }
  return min <= max ? { min, max } : null;
}

export function withMarks(extent: Extent | null, marks: Mark[], axis: 'x' | 'y', log: boolean): Extent | null {
  if (!extent) return null;
  let { min, max } = extent;
  for (const mark of marks) {
    if (mark.axis !== axis || (log && mark.at <= 0)) continue;
    min = Math.min(min, mark.at);
    max = Math.max(max, mark.at);
  }
  return { min, max };
}

/// The ends of a logarithmic axis, at 1, 2 or 5 times a power of ten, and its ticks: only powers of ten where it is long.
export function decades(min: number, max: number): { min: number; max: number; ticks: number[] } {
  const all: number[] = [];
  for (let e = Math.floor(Math.log10(min)) - 1; e <= Math.ceil(Math.log10(max)) + 1; ++e) {
    for (const step of [1, 2, 5]) all.push(Number(`${step}e${e}`));
  }
  const first = all.filter((v) => v <= min * 1.0001).pop() ?? min;
  const last = all.find((v) => v >= max * 0.9999) ?? max;
  const long = Math.log10(last / first) > 2.2;
  const ticks = all.filter((v) => v >= first && v <= last && (!long || /^1(e|0*$)|^0\.0*1$/.test(String(v))));
  return { min: first, max: last, ticks };
}

/// Labels too close to the one before stand on a second line; where that is full too, they are left out.
function twoLines(ticks: number[], name: (v: number) => string, min: number, max: number, width: number): Map<number, string> {
  const out = new Map<number, string>();
  const ends = [-Infinity, -Infinity];
  for (const v of ticks) {
    const text = name(v);
    const half = text.length * 3.4 + 4;
    const at = (Math.log(v / min) / Math.log(max / min)) * width;
    const line = ends.findIndex((end) => at - half >= end);
    if (line < 0) continue;
    ends[line] = at + half;
    out.set(v, line === 0 ? text : `\n${text}`);
  }
  return out;
}

export function axisName(axis: Axis, extent: Extent | null): string {
  if (axis.scale !== 'linear') return axis.label;
  const unit = axisUnit(axis.unit, extent ? Math.max(Math.abs(extent.min), Math.abs(extent.max)) : 0).name;
  return unit ? `${axis.label} (${unit})` : axis.label;
}

function common(axis: Axis, extent: Extent | null, of: Theme, horizontal: boolean): Option {
  const c = ink(of);
  return {
    name: axisName(axis, extent),
    nameLocation: 'middle',
    nameTextStyle: { color: c.muted, fontSize: 12.5 },
    nameGap: horizontal ? 30 : 52,
    axisLine: { show: horizontal, lineStyle: { color: c.line } },
    axisTick: { show: horizontal, lineStyle: { color: c.line } },
    axisLabel: { color: c.muted, fontSize: 12, hideOverlap: true },
    splitLine: { show: !horizontal, lineStyle: { color: c.faint } },
    minorTick: { show: false },
  };
}

/// An axis of ECharts for values within `extent`. `exact` are the x of the points: where they are few, ticks stand there.
export function axisOption(axis: Axis, extent: Extent | null, of: Theme, horizontal: boolean,
                           exact: number[] = [], width = 800): Option {
  const base = common(axis, extent, of, horizontal);
  const label = base.axisLabel as Option;
  const tick = base.axisTick as Option;
  if (axis.scale === 'log' && extent) {
    const name = axis.unit === 'B' ? sizeName : (v: number) => value(v, axis.unit, 3);
    const few = horizontal && exact.length > 0 && exact.length <= 12;
    let ticks: number[];
    let { min, max } = extent;
    if (min === max) {
      min /= 2;
      max *= 2;
    }
    if (few) {
      ticks = exact;
      const room = (max / min) ** 0.03;
      min /= room;
      max *= room;
    } else {
      ({ min, max, ticks } = decades(min, max));
    }
    const labels = few ? twoLines(ticks, name, min, max, width) : null;
    const second = labels !== null && [...labels.values()].some((text) => text.startsWith('\n'));
    return { ...base, type: 'log', logBase: 10, min, max, nameGap: second ? 44 : base.nameGap,
             axisLabel: { ...label, customValues: ticks, hideOverlap: !labels, lineHeight: 14,
                          formatter: (v: number) => (labels ? labels.get(nearest(ticks, v)) ?? '' : name(nearest(ticks, v))) },
             axisTick: { ...tick, customValues: ticks },
             splitLine: { show: !horizontal, lineStyle: { color: ink(of).faint } } };
  }
  const unit = axisUnit(axis.unit, extent ? Math.max(Math.abs(extent.min), Math.abs(extent.max)) : 0);
  // A time axis that starts late is cut there; a y axis always shows where zero is.
  const cut = horizontal && extent !== null && extent.min > 0.25 * extent.max;
  return { ...base, type: 'value', scale: cut,
           max: axis.unit === 'share' && extent && extent.max <= 1 && extent.max > 0.9 ? 1 : undefined,
           min: horizontal && !cut && extent && extent.min >= 0 ? 0 : undefined,
           axisLabel: { ...label, formatter: (v: number) => unit.tick(v) } };
}

/// A tick's position comes back from the logarithm with an error in the last digits.
function nearest(ticks: number[], v: number): number {
  let best = v;
  let off = Math.abs(v) * 1e-6;
  for (const t of ticks) {
    if (Math.abs(t - v) <= off) {
      best = t;
      off = Math.abs(t - v);
    }
  }
  return best;
}

/// A time axis: what it shows can begin later (skip.ts), and failures are seen behind it.
export function isTime(axis: Axis): boolean {
  return axis.unit === 'us' && axis.label === 'time';
}

const kMostSpanNames = 4;

/// Stretches of time behind the chart in which something was broken, as far as they are within `extent`. A name stands once.
export function spanSeries(spans: Span[], extent: Extent | null, of: Theme, axes: { x: number; y: number } = { x: 0, y: 0 }, named = true): Option[] {
  if (!extent) return [];
  const seen = spans.filter((one) => one.from < extent.max && (one.until === null || one.until > extent.min));
  if (seen.length === 0) return [];
  const c = ink(of);
  const names: string[] = [];
  return [{
    type: 'line', name: 'failures', id: `spans-${axes.x}`, data: [], xAxisIndex: axes.x, yAxisIndex: axes.y, silent: true, tooltip: { show: false }, z: 0,
    markArea: {
      silent: true, animation: false, itemStyle: { color: c.bad, opacity: 0.1 },
      data: seen.map((one) => {
        const first = !names.includes(one.label);
        if (first) names.push(one.label);
        const line = names.length - 1;
        const show = named && first && line < kMostSpanNames;
        return [
          { xAxis: Math.max(one.from, extent.min), name: one.label,
            label: { show, position: 'insideTopLeft', distance: 3, offset: [0, 13 * line], color: c.bad, backgroundColor: c.surface, padding: [0, 2], fontSize: 11, formatter: () => one.label } },
          { xAxis: Math.min(one.until ?? extent.max, extent.max) },
        ];
      }),
    },
    // Where it breaks, and where it mends.
    markLine: {
      silent: true, symbol: 'none', animation: false, label: { show: false }, lineStyle: { color: c.bad, type: [2, 3], width: 1, opacity: 0.55 },
      data: seen.flatMap((one) => [one.from, one.until ?? Infinity]).filter((t) => t > extent.min && t < extent.max).map((t) => ({ xAxis: t })),
    },
  }];
}

const kPlainRoom = 26;
const kMostRoom = 140;

/// How much is kept free at the right for the names of lines across; names too long stand inside.
export function markRoom(marks: Mark[], width: number): number {
  const longest = Math.max(0, ...marks.filter((m) => m.axis === 'y').map((m) => m.label.length));
  const room = 12 + longest * 6.6;
  return longest > 0 && room <= Math.min(kMostRoom, width / 6) ? Math.max(kPlainRoom, room) : kPlainRoom;
}

/// Lines across the chart, on a series of their own so that hiding a scheme does not hide them. `height`: how much of the y axis'
/// values is seen. `far`: the end with the name; an axis that is turned around has its start at the top.
export function markSeries(marks: Mark[], of: Theme, width: number, height = 0,
                           axes: { x: number; y: number } = { x: 0, y: 0 }, far: 'start' | 'end' = 'end'): Option[] {
  if (marks.length === 0) return [];
  const c = ink(of);
  const outside = markRoom(marks, width) > kPlainRoom;
  return [{
    type: 'line', name: 'marks', id: `marks-${axes.y}`, data: [], xAxisIndex: axes.x, yAxisIndex: axes.y, silent: true,
    tooltip: { show: false },
    markLine: {
      silent: true, symbol: 'none', animation: false,
      lineStyle: { color: c.muted, type: [3, 3], width: 1.2 },
      data: marks.map((m) => {
        const free = m.axis === 'x' || outside;
        // Names of lines close to each other give way, the upper one up and the lower one down.
        const near = marks.filter((o) => o !== m && o.axis === m.axis && m.axis === 'y' && Math.abs(o.at - m.at) < 0.25 * height);
        const away = !free || near.length === 0 ? 0 : near.every((o) => o.at < m.at) ? -6 : near.every((o) => o.at > m.at) ? 6 : 0;
        return {
          ...(m.axis === 'x' ? { xAxis: m.at } : { yAxis: m.at }),
          label: { formatter: () => m.label, color: c.muted, fontSize: 11.5, position: free ? far : 'insideEndTop',
                   distance: free ? 4 : [2, 3], offset: [0, away], backgroundColor: free ? 'transparent' : c.surface, padding: [1, 3] },
        };
      }),
    },
  }];
}
