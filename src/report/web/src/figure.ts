// The frame around every figure: its title, what can be done with it, its caption and its numbers.

import { barsView } from './bars';
import type { BrokenFigure, Figure } from './data';
import { button, fileName, h, prose, save } from './dom';
import { fabricView } from './fabric';
import { flowView } from './flow';
import { heatView } from './heat';
import { csv, tableElement } from './tables';
import type { View, ViewOptions } from './view';
import { topologyView } from './topology';
import { xyView } from './xy';

export interface Framed {
  figure: Figure;
  element: HTMLElement;
  view: View | null;
  /// Says what is wrong where it cannot be drawn.
  draw(): string | null;
}

function makeView(figure: Exclude<Figure, BrokenFigure>, options: ViewOptions): View {
  switch (figure.kind) {
    case 'xy': return xyView(figure, options);
    case 'bars': return barsView(figure, options);
    case 'fabric': return fabricView(figure, options);
    case 'flow': return flowView(figure, options);
    case 'heat': return heatView(figure);
    case 'topology': return topologyView(figure);
  }
}

function message(text: string): HTMLElement {
  return h('p', { class: 'no-data' }, text);
}

export function frameFigure(figure: Figure, options: ViewOptions): Framed {
  const titleId = `${figure.id}-title`;
  const holder = h('div', { class: 'figure-body' });
  const notices = h('div');
  const dataBox = h('div', { class: 'figure-data', id: `${figure.id}-data`, hidden: true });
  const toolbar = h('div', { class: 'toolbar', role: 'group', 'aria-label': `Tools for ${figure.title || figure.id}` });
  const element = h('figure', { id: figure.id, class: `figure figure-${figure.kind}`, 'aria-labelledby': titleId },
    h('div', { class: 'figure-head' },
      h(options.alone ? 'h1' : 'h3', { class: 'figure-title', id: titleId }, figure.title || figure.id), toolbar),
    notices, holder,
    h('figcaption', {}, prose(figure.caption)), dataBox);
  for (const text of figure.notices) notices.append(h('p', { class: 'figure-notice' }, prose(text)));

  if (figure.kind === 'broken') {
    holder.append(message(figure.why));
    return { figure, element, view: null, draw: () => null };
  }

  const view = makeView(figure, options);
  if (!view.hasData) {
    holder.append(message('No data in this result file.'));
    return { figure, element, view: null, draw: () => null };
  }
  for (const text of view.remarks) notices.append(h('p', { class: 'figure-notice' }, text));
  holder.append(view.body);

  const about = figure.title || figure.id;
  const show = button('Show data', () => {
    const open = dataBox.hidden;
    dataBox.hidden = !open;
    show.setAttribute('aria-expanded', String(open));
    show.textContent = open ? 'Hide data' : 'Show data';
    dataBox.replaceChildren(...(open ? [tableElement(view.shown(), about)] : []));
  }, { class: 'tool', 'aria-expanded': 'false', 'aria-controls': dataBox.id });
  const failed = (e: unknown) => notices.append(h('p', { class: 'figure-notice', role: 'alert' },
    `The picture could not be made: ${(e as Error).message}.`));
  toolbar.append(...view.tools, h('span', { class: 'tool-group' }, show,
    button('CSV', () => {
      const all = view.all();
      save(`${fileName(all.name)}.csv`, csv(all.table));
    }, { class: 'tool', 'aria-label': `Download the data of ${about} as CSV` }),
    button('PNG', () => {
      view.png().then((blob) => save(`${fileName(figure.id)}.png`, blob)).catch(failed);
    }, { class: 'tool', 'aria-label': `Download ${about} as PNG` }),
    view.svg ? button('SVG', () => {
      try {
        save(`${fileName(figure.id)}.svg`, new Blob([view.svg!()], { type: 'image/svg+xml' }));
      } catch (e) {
        failed(e);
      }
    }, { class: 'tool', 'aria-label': `Download ${about} as SVG` }) : null as unknown as string));

  // The numbers follow the frame or flow that is chosen while they are open.
  view.body.addEventListener('change', () => {
    if (!dataBox.hidden) dataBox.replaceChildren(tableElement(view.shown(), about));
  });

  return {
    figure, element, view,
    draw() {
      try {
        view.draw();
        return null;
      } catch (e) {
        console.error(`figure ${figure.id}:`, e);
        const why = `This figure could not be drawn: ${(e as Error).message}`;
        holder.replaceChildren(message(why));
        return why;
      }
    },
  };
}
