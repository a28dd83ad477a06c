// One link of the replay, opened by a click on its cell; or by its numbers, for keyboards and thumbs.

import type { FabricFigure, Variant, XyFigure } from './data';
import { h } from './dom';
import type { View } from './view';
import { xyView } from './xy';

export interface LinkPanel {
  row: HTMLElement;  ///< where its numbers are given
  box: HTMLElement;  ///< where it is shown
  open(tor: number, spine: number): void;
  draw(): void;
  resize(): void;
}

/// A quantity of the link over time, in all runs and both ways.
function figureOf(fig: FabricFigure, variants: Variant[], tor: number, spine: number, kind: 'use' | 'queue'): XyFigure {
  return {
    id: `${fig.id}-link-${kind}`, kind: 'xy', title: '', caption: '', notices: [], spans: fig.spans, marks: [],
    x: { label: 'time', unit: 'us', scale: 'linear' },
    y: kind === 'use' ? { label: 'utilisation', unit: 'share', scale: 'linear' } : { label: 'queueing delay', unit: 'us', scale: 'linear' },
    series: variants.filter((v) => tor >= 0 && spine >= 0 && tor < v.tors && spine < v.spines).flatMap((v) => ['up', 'down'].flatMap((way) => {
      const layer = v.layers.find((l) => l.id === `${way}-${kind}`);
      if (!layer) return [];
      const at = (f: number) => layer.bytes[(f * v.tors + tor) * v.spines + spine]!;
      return [{ name: variants.length > 1 ? `${v.name}, ${way}` : way, role: 'other', draw: 'line' as const, dashed: way === 'down',
                points: v.times.map((time, f): [number, number] => [time, (at(f) / 255) * layer.max]) }];
    })),
  };
}

export function linkPanel(fig: FabricFigure, variants: Variant[]): LinkPanel {
  const number = (label: string) => h('input', { type: 'number', min: 0, value: 0, class: 'link-input', 'aria-label': label });
  const torBox = number('ToR of the link');
  const spineBox = number('Spine of the link');
  const box = h('div', { class: 'opened', hidden: true });
  let opened: View[] = [];
  /// What is no longer shown would go on listening and drawing.
  const close = () => {
    for (const one of opened) one.dispose?.();
    opened = [];
  };
  const open = (tor: number, spine: number) => {
    close();
    const figures = (['use', 'queue'] as const).map((kind) => figureOf(fig, variants, tor, spine, kind)).filter((f) => f.series.length > 0);
    torBox.value = String(tor);
    spineBox.value = String(spine);
    box.hidden = false;
    opened = figures.map((f) => xyView(f));
    box.replaceChildren(
      h('div', { class: 'opened-head' },
        h('strong', { role: 'status' }, figures.length > 0 ? `ToR ${tor} and spine ${spine}, up and down` : `There is no link of ToR ${tor} and spine ${spine}.`),
        h('button', { type: 'button', class: 'tool', click: () => { box.hidden = true; close(); } }, 'Close')),
      ...opened.map((one) => one.body));
    for (const one of opened) one.draw();
  };
  const row = h('div', { class: 'link-row' }, h('label', { class: 'field' }, h('span', {}, 'Link of ToR'), torBox),
    h('label', { class: 'field' }, h('span', {}, 'and spine'), spineBox),
    h('button', { type: 'button', class: 'tool', click: () => open(Number(torBox.value), Number(spineBox.value)) }, 'Open'));
  return {
    row, box, open,
    draw() { for (const one of opened) one.draw(); },
    resize() { for (const one of opened) one.resize(); },
  };
}
