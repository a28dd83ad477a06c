// Colours for amounts.

import type { Theme } from './theme';

// From "nothing" to "most", always in one direction of lightness, so that grey and colour-blind eyes read the same order.
// Nothing is near the ground: what stands out is traffic, or trouble.
export const kRamps: Record<'use' | 'queue', Record<Theme, string[]>> = {
  use: {
    light: ['#f2f5f8', '#cfe1f2', '#93c3e0', '#4b97c9', '#1764ab', '#08306b'],
    dark: ['#1b232c', '#17405f', '#1b6a9c', '#3296c8', '#73c3e6', '#d6f2fc'],
  },
  queue: {
    light: ['#f7f4f0', '#fddbb0', '#fbaa70', '#ee6c43', '#c22f1e', '#6b0a0a'],
    dark: ['#251c1a', '#5e2516', '#a53d12', '#de6f1c', '#fbb04e', '#fff3cf'],
  },
};

export type Rgb = [number, number, number];

export function channels(hex: string): Rgb {
  const v = parseInt(hex.slice(1), 16);
  return [v >> 16, (v >> 8) & 255, v & 255];
}

/// The colour at a share from 0 to 1 of the way through the stops.
export function colourAt(stops: Rgb[], share: number): Rgb {
  const at = Math.min(1, Math.max(0, share)) * (stops.length - 1);
  const k = Math.min(stops.length - 2, Math.floor(at));
  return [0, 1, 2].map((c) => Math.round(stops[k]![c]! + (stops[k + 1]![c]! - stops[k]![c]!) * (at - k))) as Rgb;
}

/// Black or white, whichever can be read on it.
export function inkOn([r, g, b]: Rgb): string {
  return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? '#16191c' : '#ffffff';
}
