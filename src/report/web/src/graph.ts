// A network from a file as a drawing: switches in rows, the further from hosts the higher; or in a ring, where rows would say
// nothing. Of more switches than fit, those with something wrong are drawn, the first ones and the last.

import type { Graph, Topology } from './data';
import { s } from './dom';
import { Drawing, picked, row, type Place, type State } from './drawing';
import type { Theme } from './theme';
import { digits, value } from './units';

const kHeight = 36;

/// The middle of a long name is left out: what tells one from another is mostly at its end.
export function shortened(name: string, most: number): string {
  if (name.length <= most) return name;
  const end = Math.ceil((most - 1) / 2);
  return `${name.slice(0, most - 1 - end)}…${name.slice(name.length - end)}`;
}

class GraphDrawing extends Drawing {
  private readonly numbers: Map<string, number>;

  constructor(width: number, height: number, fig: Topology, private readonly graph: Graph, private readonly wide: number, of: Theme) {
    super(width, height, fig, of);
    this.numbers = new Map(graph.switches.map((one, i) => [one.name, i]));
  }

  /// Hosts at the switch whose own links are in trouble.
  private hostsInTrouble(name: string): { down: boolean; names: string[] } {
    const all = this.fig.troubles.filter((t) => !this.numbers.has(t.from) && t.to === name);
    return { down: all.some((t) => t.down), names: [...new Set(all.map((t) => t.from))] };
  }

  private stateOfLink(a: string, b: string): State {
    const one = this.stateOf(a, b);
    return one === 'well' || (one === 'bad' && this.stateOf(b, a) === 'down') ? this.stateOf(b, a) : one;
  }

  node(index: number, at: Place): void {
    const one = this.graph.switches[index]!;
    const state = this.stateOf(one.name, '');
    const trouble = this.hostsInTrouble(one.name);
    const title = s('title');
    title.textContent = [one.hosts > 0 ? `${one.name}, ${digits(one.hosts)} ${one.hosts === 1 ? 'host' : 'hosts'}` : one.name,
      ...this.fig.troubles.filter((t) => (t.from === one.name && t.to === '') || trouble.names.includes(t.from)).map((t) => t.text)].join('\n');
    const [left, top] = [at.x - this.wide / 2, at.y - kHeight / 2];
    const [right, bottom] = [left + this.wide, top + kHeight];
    const group = s('g', {}, title,
      s('rect', { x: left, y: top, width: this.wide, height: kHeight, rx: 5, fill: this.c.surface,
                  stroke: state === 'well' ? this.c.muted : this.colour(state), 'stroke-width': state === 'well' ? 1.2 : 2.2,
                  'stroke-dasharray': state === 'bad' ? '2 3' : null }),
      state === 'down' ? s('path', { d: `M${left + 4},${top + 4}L${right - 4},${bottom - 4}M${right - 4},${top + 4}L${left + 4},${bottom - 4}`,
                                     stroke: this.colour(state), 'stroke-width': 1.2, opacity: 0.55 }) : null,
      s('text', { x: at.x, y: one.hosts > 0 ? at.y - 3 : at.y + 4, 'font-size': 11.5, 'font-weight': 600, 'text-anchor': 'middle',
                  fill: state === 'well' ? this.c.text : this.colour(state) }, shortened(one.name, Math.floor((this.wide - 6) / 6.6))));
    this.boxes.append(group);
    if (one.hosts === 0) return;
    const words = trouble.names.length === 1 ? shortened(trouble.names[0]!, 9) : trouble.names.length > 1 ? `${trouble.names.length} bad`
      : this.wide < 52 ? `${digits(one.hosts)}` : `${digits(one.hosts)} ${one.hosts === 1 ? 'host' : 'hosts'}`;
    this.text(at.x, at.y + 11, words, 10, 'middle', trouble.names.length === 0 ? this.c.muted : this.colour(trouble.down ? 'down' : 'bad'));
  }

  line(link: Graph['links'][number], d: string): void {
    const [a, b] = [this.graph.switches[link.a]!.name, this.graph.switches[link.b]!.name];
    const state = this.stateOfLink(a, b);
    const title = s('title');
    const rate = link.gbps === null ? '' : `, ${link.count > 1 ? `${link.count} x ` : ''}${value(link.gbps, 'Gbps')}`;
    title.textContent = [`${a} and ${b}${rate}`,
      ...this.fig.troubles.filter((t) => (t.from === a && t.to === b) || (t.from === b && t.to === a)).map((t) => t.text)].join('\n');
    const line = s('path', { d, stroke: this.colour(state), fill: 'none', 'stroke-width': state !== 'well' ? 2.6 : link.count > 1 ? 1.8 : 1,
                             'stroke-dasharray': state === 'down' ? '6 4' : state === 'bad' ? '2 3' : null }, title);
    if (state === 'well') this.lines.prepend(line);
    else this.lines.append(line);
  }
}

/// Switches of a level with something wrong, by their places.
function wrongPlaces(fig: Topology, graph: Graph, level: number): Set<number> {
  const names = new Set(fig.troubles.flatMap((t) => [t.from, t.to]));
  return new Set(graph.switches.filter((one) => one.level === level && names.has(one.name)).map((one) => one.place));
}

function inRows(fig: Topology, graph: Graph, width: number, wide: number, of: Theme): Drawing {
  const step = 112;
  const most = Math.max(3, Math.floor((width - 16) / (wide + 10)));
  const inside = graph.links.some((one) => graph.switches[one.a]!.level === graph.switches[one.b]!.level);
  const top = kHeight / 2 + (inside ? 52 : 10);
  const d = new GraphDrawing(width, top + step * (graph.levels.length - 1) + kHeight / 2 + 18, fig, graph, wide, of);
  const places = new Map<number, Place>();
  graph.levels.forEach((count, level) => {
    const y = top + step * (graph.levels.length - 1 - level);
    const { places: shown, dots } = row(picked(count, most, wrongPlaces(fig, graph, level)), 8, width - 16, y);
    for (const place of shown) {
      const index = graph.switches.findIndex((one) => one.level === level && one.place === place.index);
      if (index >= 0) places.set(index, place);
    }
    d.dots(dots, 'switches');
  });
  for (const link of graph.links) {
    const [a, b] = [places.get(link.a), places.get(link.b)];
    if (!a || !b) continue;
    if (a.y === b.y) {
      // Over the heads of those between them.
      const rise = Math.min(46, 14 + Math.abs(a.x - b.x) / 12);
      d.line(link, `M${a.x},${a.y - kHeight / 2}C${a.x},${a.y - kHeight / 2 - rise} ${b.x},${b.y - kHeight / 2 - rise} ${b.x},${b.y - kHeight / 2}`);
    } else {
      const [low, high] = a.y > b.y ? [a, b] : [b, a];
      d.line(link, `M${low.x},${low.y - kHeight / 2}L${high.x},${high.y + kHeight / 2}`);
    }
  }
  for (const [index, place] of places) d.node(index, place);
  return d;
}

interface Ellipse {
  x: number;
  y: number;
  rx: number;
  ry: number;
}

const kParts = 1440;

/// Points on an ellipse from the top on, of which each two neighbours are `apart` boxes from each other, beside or above.
function spaced(on: Ellipse, wide: number, apart: number): [number, number][] {
  const all: [number, number][] = [];
  const far = (a: [number, number], b: [number, number]) => Math.max(Math.abs(a[0] - b[0]) / (wide + 6), Math.abs(a[1] - b[1]) / (kHeight + 6)) >= apart;
  for (let i = 0; i < kParts; ++i) {
    const at: [number, number] = [on.x + on.rx * Math.sin((2 * Math.PI * i) / kParts), on.y - on.ry * Math.cos((2 * Math.PI * i) / kParts)];
    if (all.length === 0 || far(all[all.length - 1]!, at)) all.push(at);
  }
  while (all.length > 1 && !far(all[all.length - 1]!, all[0]!)) all.pop();
  return all;
}

/// As many as asked for, as far from each other as they can be.
function around(on: Ellipse, wide: number, count: number): [number, number][] {
  let [near, far] = [0, 40];
  for (let i = 0; i < 24; ++i) {
    const middle = (near + far) / 2;
    if (spaced(on, wide, middle).length >= count) near = middle;
    else far = middle;
  }
  return spaced(on, wide, near).slice(0, count);
}

function inARing(fig: Topology, graph: Graph, width: number, wide: number, of: Theme): Drawing {
  const total = graph.levels.reduce((sum, one) => sum + one, 0);
  const on: Ellipse = { x: width / 2, y: 0, rx: (width - wide) / 2 - 6, ry: 110 };
  // As high as it takes for all to have room, but no higher than a page.
  const room = () => spaced(on, wide, 1).length;
  while (on.ry < 300 && room() < total) on.ry += 10;
  on.y = on.ry + kHeight / 2 + 8;
  const names = new Set(fig.troubles.flatMap((t) => [t.from, t.to]));
  const must = new Set(graph.switches.map((one, i) => (names.has(one.name) ? i : -1)).filter((i) => i >= 0));
  const all = total <= room() && total === graph.switches.length;
  const shown = picked(graph.switches.length, all ? total : Math.max(3, Math.min(room() - 1, graph.switches.length)), must);
  const left = total - shown.length;
  const d = new GraphDrawing(width, 2 * on.y, fig, graph, wide, of);
  const points = around(on, wide, shown.length + (left > 0 ? 1 : 0));
  const places = new Map<number, Place>();
  shown.forEach((index, i) => {
    const [x, y] = points[i]!;
    places.set(index, { index, x, y });
  });
  for (const link of graph.links) {
    const [a, b] = [places.get(link.a), places.get(link.b)];
    if (a && b) d.line(link, `M${a.x},${a.y}L${b.x},${b.y}`);
  }
  for (const [index, place] of places) d.node(index, place);
  if (left > 0) d.dots([[...points[shown.length]!, left]], 'switches');
  return d;
}

export function drawGraph(fig: Topology, graph: Graph, width: number, of: Theme): Drawing {
  const longest = Math.max(...graph.switches.map((one) => one.name.length), 4);
  const wide = Math.min(width < 500 ? 54 : 96, Math.max(width < 500 ? 42 : 54, 6.6 * longest + 12));
  return graph.ring ? inARing(fig, graph, width, wide, of) : inRows(fig, graph, width, wide, of);
}

/// For the table beside the drawing.
export function graphRows(graph: Graph): (string | number | null)[][] {
  const count = graph.levels.reduce((sum, one) => sum + one, 0);
  return [['switches', count, graph.levels.length > 1 ? `${graph.levels.map((one) => digits(one)).join(', ')} by how far they are from hosts` : '']];
}
