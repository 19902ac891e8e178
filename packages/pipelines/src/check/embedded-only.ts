/** Components that work in the embedded warehouse only. */
import type { Finding } from '../validate/finding.ts';
import type { PipelineOutline } from './outline.ts';

/** An error before a run that reaches them, and a warning at an upload. */
export function findEmbeddedOnly(
  { path, embeddedOnly = [] }: PipelineOutline,
  warehouse: string | undefined,
): Finding[] {
  if (warehouse !== 'POSTGRES' && warehouse !== 'SNOWFLAKE') return [];
  return embeddedOnly.map(({ component, type, line }) => ({
    path,
    line,
    component,
    code: 'warehouse-not-supported',
    message: `${type} works in the embedded warehouse, DUCKDB, only, but the project's warehouse is ${warehouse}: use SQL there, or run it in a project with the embedded warehouse`,
    level: 'error',
  }));
}
