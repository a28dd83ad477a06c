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
}

export interface ViewOptions {
  /// The figure stands alone in a page of fixed size.
  alone: boolean;
}

export const kPaper: Theme = 'light';
