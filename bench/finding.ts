/** The results of the benchmark: numbers of several rounds, and a limit. */

export interface Finding {
  work: string;
  /** With its unit. */
  measured: string;
  limit: string;
  verdict: 'reached' | 'stretch reached' | 'MISSED' | 'for information';
  /** The numbers of the rounds, for the JSON file. */
  rounds: readonly number[];
}

export function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((one, other) => one - other);
  const middle = sorted.length / 2;
  return sorted.length % 2 === 1
    ? (sorted[Math.floor(middle)] ?? Number.NaN)
    : ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2;
}

export function percentile(numbers: readonly number[], part: number): number {
  const sorted = [...numbers].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

/** `0.62 (0.58–0.66)` */
export function spread(numbers: readonly number[], digits = 2): string {
  const [least, most] = [Math.min(...numbers), Math.max(...numbers)];
  return `${median(numbers).toFixed(digits)} (${least.toFixed(digits)}–${most.toFixed(digits)})`;
}

export function verdictAtLeast(
  value: number,
  least: number,
  stretch = Number.POSITIVE_INFINITY,
): Finding['verdict'] {
  if (value >= stretch) return 'stretch reached';
  return value >= least ? 'reached' : 'MISSED';
}

export function verdictAtMost(value: number, most: number): Finding['verdict'] {
  return value <= most ? 'reached' : 'MISSED';
}

export function table(findings: readonly Finding[]): string {
  const heads = ['work', 'measured', 'limit', 'verdict'] as const;
  const rows = [[...heads], ...findings.map((finding) => heads.map((head) => finding[head]))];
  const widths = heads.map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
