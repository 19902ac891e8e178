/** The text of a commit status: counts, and the first findings as far as providers show them. */
import type { ReviewResult } from './review.store.ts';

interface Finding {
  path?: string;
  line?: number;
  message: string;
}

const shown = 3;

export function renderStatusText({
  errors,
  warnings,
  findings,
}: Pick<ReviewResult, 'errors' | 'warnings' | 'findings'>): string {
  const counts = [count(errors, 'error'), count(warnings, 'warning')].join(', ');
  const first = (findings as readonly Finding[]).slice(0, shown).map(renderFinding);
  return first.length === 0 ? counts : `${counts}: ${first.join(' · ')}`;
}

function count(number: number, what: string): string {
  return `${number === 0 ? 'no' : number} ${what}${number === 1 ? '' : 's'}`;
}

function renderFinding({ path, line, message }: Finding): string {
  const where = path === undefined ? '' : `${path}${line === undefined ? '' : `:${line}`} `;
  return `${where}${message}`;
}
