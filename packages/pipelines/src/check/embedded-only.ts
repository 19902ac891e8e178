/** Components that do not work in every warehouse. */
import { findDefinition } from '../components/registry.ts';
import type { Finding } from '../validate/finding.ts';
import type { PipelineOutline } from './outline.ts';

/** The types of warehouse that this version supports. */
export const supportedWarehouses: readonly string[] = ['DUCKDB', 'POSTGRES', 'REDSHIFT', 'SNOWFLAKE'];

/** An error before a run that reaches them, and a warning at an upload. */
export function findEmbeddedOnly(
  { path, embeddedOnly = [] }: PipelineOutline,
  warehouse: string | undefined,
): Finding[] {
  if (warehouse === undefined || warehouse === 'DUCKDB' || !supportedWarehouses.includes(warehouse))
    return [];
  return embeddedOnly.flatMap(({ component, type, line }) => {
    const { embeddedOnly: only = true, elsewhere = 'use SQL there' } = findDefinition(type) ?? {};
    const others = only === true ? [] : only;
    if (others.includes(warehouse)) return [];
    const where = others.length === 0 ? '' : ` and in ${others.join(' and ')}`;
    return {
      path,
      line,
      component,
      code: 'warehouse-not-supported',
      message: `${type} works in the embedded warehouse, DUCKDB,${where} only, but the project's warehouse is ${warehouse}: ${elsewhere}, or run it in a project with the embedded warehouse`,
      level: 'error' as const,
    };
  });
}
