import type { Resolved, ResolvedMap } from '../expressions/resolve.ts';

export function isResolvedMap(value: Resolved | undefined): value is ResolvedMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
