// What drawings of networks are made of: rows of switches of which not all fit, boxes, links, and what is wrong with them.

import { kFont } from './chart';
import type { Topology } from './data';
import { s } from './dom';
import { ink, type Theme } from './theme';
import { digits } from './units';

export const kSwitch = { width: 58, height: 30, gap: 12 };

/// Which of `count` switches are drawn: those that must be as far as there is room, the first, and the last.
export function picked(count: number, most: number, must: Set<number>): number[] {
  if (count <= most) return Array.from({ length: count }, (_, i) => i);
  const chosen = new Set<number>([count - 1]);
  for (const i of [...must].sort((a, b) => a - b)) if (chosen.size < most && i < count) chosen.add(i);
  for (let i = 0; chosen.size < most; ++i) chosen.add(i);
  return [...chosen].sort((a, b) => a - b);
}

export interface Place {
  index: number;
  x: number;
  y: number;
}

/// Places from left to right within a width; dots where some are left out.
export function row(indices: number[], left: number, width: number, y: number): { places: Place[]; dots: [number, number, number][] } {
  const units = indices.length + indices.filter((v, i) => i > 0 && v !== indices[i - 1]! + 1).length * 0.7;
  const step = width / Math.max(1, units);
  const places: Place[] = [];
  const dots: [number, number, number][] = [];
  let at = left;
  indices.forEach((index, i) => {
    const before = indices[i - 1];
    if (before !== undefined && index !== before + 1) {
      dots.push([at + 0.35 * step, y, index - before - 1]);
      at += 0.7 * step;
    }
    places.push({ index, x: at + step / 2, y });
    at += step;
  });
  return { places, dots };
}

export type State = 'well' | 'down' | 'bad';

export class Drawing {
  readonly svg: SVGSVGElement;
  protected readonly lines = s('g');
  protected readonly boxes = s('g');
  protected readonly c;

  constructor(readonly width: number, readonly height: number, protected readonly fig: Topology, of: Theme) {
    this.c = ink(of);
    this.svg = s('svg', { xmlns: 'http://www.w3.org/2000/svg', viewBox: `0 0 ${width} ${height}`, width, height, 'font-family': kFont,
                          'aria-hidden': 'true' });
    this.svg.append(this.lines, this.boxes);
  }

  protected colour(state: State): string {
    return state === 'down' ? this.c.bad : state === 'bad' ? this.c.warn : this.c.line;
  }

  text(x: number, y: number, words: string, size = 12, anchor = 'middle', fill = this.c.muted): void {
    this.boxes.append(s('text', { x, y, 'font-size': size, 'text-anchor': anchor, fill }, words));
  }

  dots(all: [number, number, number][], more: string): void {
    for (const [x, y, left] of all) {
      for (const d of [-7, 0, 7]) this.boxes.append(s('circle', { cx: x + d, cy: y, r: 1.8, fill: this.c.muted }));
      const title = s('title');
      title.textContent = `${digits(left)} more ${more}`;
      this.boxes.append(s('rect', { x: x - 14, y: y - 12, width: 28, height: 24, fill: 'transparent' }, title));
      this.text(x, y + 17, `+${digits(left)}`, 10);
    }
  }

  box(name: string, label: string, at: Place, wide: number): void {
    const state = this.stateOf(name, '');
    const title = s('title');
    title.textContent = [name, ...this.fig.troubles.filter((t) => t.from === name && t.to === '').map((t) => t.text)].join('\n');
    const ink_ = state === 'well' ? this.c.text : this.colour(state);
    this.boxes.append(s('g', {}, title,
      s('rect', { x: at.x - wide / 2, y: at.y - kSwitch.height / 2, width: wide, height: kSwitch.height, rx: 5, fill: this.c.surface,
                  stroke: state === 'well' ? this.c.muted : this.colour(state), 'stroke-width': state === 'well' ? 1.2 : 2.2,
                  'stroke-dasharray': state === 'bad' ? '2 3' : null }),
      state === 'down' ? s('path', { d: `M${at.x - wide / 2 + 4},${at.y - 11}L${at.x + wide / 2 - 4},${at.y + 11}M${at.x + wide / 2 - 4},${at.y - 11}L${at.x - wide / 2 + 4},${at.y + 11}`,
                                     stroke: this.colour(state), 'stroke-width': 1.2, opacity: 0.55 }) : null,
      s('text', { x: at.x, y: at.y + 4, 'font-size': wide < 46 ? 11 : 12, 'font-weight': 600, 'text-anchor': 'middle', fill: ink_ }, label)));
  }

  link(lower: string, upper: string, a: Place, b: Place): void {
    const state = this.stateOf(lower, upper);
    const line = s('path', { d: `M${a.x},${a.y - kSwitch.height / 2}L${b.x},${b.y + kSwitch.height / 2}`, stroke: this.colour(state), fill: 'none',
                             'stroke-width': state === 'well' ? 1 : 2.6, 'stroke-dasharray': state === 'down' ? '6 4' : state === 'bad' ? '2 3' : null });
    if (state === 'well') this.lines.prepend(line);
    else this.lines.append(line);
  }

  protected stateOf(from: string, to: string): State {
    let state: State = 'well';
    for (const t of this.fig.troubles) {
      if (t.from !== from || t.to !== to) continue;
      if (t.down) return 'down';
      state = 'bad';
    }
    return state;
  }
}
