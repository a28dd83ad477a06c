// Names broken into lines that fit: charts know no words.

let measure: CanvasRenderingContext2D | null = null;

export function textWidth(text: string, font: string): number {
  measure ??= document.createElement('canvas').getContext('2d');
  if (!measure) return text.length * 7;
  measure.font = font;
  return measure.measureText(text).width;
}

/// At most `most` lines no wider than `width`; what does not fit ends with three dots.
export function wrap(text: string, width: number, most: number, font: string): string {
  const fits = (line: string) => textWidth(line, font) <= width;
  const cut = (line: string) => {
    let end = line.length;
    while (end > 1 && !fits(`${line.slice(0, end).trimEnd()}…`)) --end;
    return `${line.slice(0, end).trimEnd()}…`;
  };
  const lines: string[] = [];
  let line = '';
  // A line may also end behind a hyphen and the like: "allreduce-" "ring".
  for (const piece of text.trim().match(/\s+|[^\s\-_/]+[\-_/]*|[\-_/]+/g) ?? []) {
    if (line.trim() === '' || fits((line + piece).trimEnd())) {
      line = (line + piece).trimStart();
      continue;
    }
    lines.push(line.trimEnd());
    line = piece.trimStart();
  }
  if (line.trim()) lines.push(line.trimEnd());
  const kept = lines.slice(0, most);
  if (lines.length > most) kept[most - 1] = `${kept[most - 1]!} ${lines.slice(most).join(' ')}`;
  return kept.map((one) => (fits(one) ? one : cut(one))).join('\n');
}
