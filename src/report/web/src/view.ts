// What a figure of any kind can do for the frame around it.

import type { Theme } from './theme';
import type { Table } from './tables';

export interface View {
  /// The drawing and its own controls; empty when there is nothing to draw.
  body: HTMLElement;
  /// Controls that stand in the frame's toolbar, before the downloads.
  tools: HTMLElement[];
  /// False when the result file holds nothing for this figure.
  hasData: boolean;
  /// Draws, or draws again in the present theme and size.
  draw(): void;
  /// The box has another size.
  resize(): void;
  /// Exactly what the chart holds, for tests.
  data(): unknown;
  /// The numbers as shown beside the figure, and all of them for a file.
  shown(): Table;
  all(): { name: string; table: Table };
  png(): Promise<Blob>;
  svg: (() => string) | null;
  /// What the reader should know about this drawing beyond the file's own notices.
  remarks: string[];
  /// It is shown no more: the chart and what it listens to go.
  dispose?(): void;
  /// Shows what is called so (a flow), where it can; says whether it did.
  open?(name: string): boolean;
}

export interface ViewOptions {
  /// The figure stands alone in a page of fixed size.
  alone: boolean;
  /// Series that the reader has hidden, of all figures of a section: whoever hides a run hides it in all of them.
  chosen?: Chosen;
}

export class Chosen {
  readonly hidden = new Set<string>();
  private readonly listeners: ((by: object) => void)[] = [];
  listen(own: object, listener: () => void): void {
    this.listeners.push((by) => { if (by !== own) listener(); });
  }
  changed(by: object): void {
    for (const listener of this.listeners) listener(by);
  }
}

export const kPaper: Theme = 'light';
