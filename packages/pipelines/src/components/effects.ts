/** Which components may change more than variables: tables, files, or something elsewhere. */
import { findDefinedType, findDefinition } from './registry.ts';

/** The steps of what iterators and calls run are judged by themselves. */
const withoutEffect: ReadonlySet<string> = new Set([
  'start',
  'and',
  'or',
  'end-success',
  'end-failure',
  'if',
  'grid-iterator',
  'table-iterator',
  'loop-iterator',
  'fixed-iterator',
  'file-iterator',
  'retry',
  'run-orchestration',
  'run-transformation',
  'run-shared-pipeline',
  'run-pipeline-under-test',
  'update-scalar',
  'append-to-grid',
  'remove-from-grid',
  'query-to-scalar',
  'query-to-grid',
  'table-metadata-to-grid',
  'print-variables',
  'assert-scalar',
  'assert-table',
  'assert-view',
]);

/** An unknown type may have any effect. */
export function mayHaveEffect(type: string): boolean {
  const definition = findDefinition(type);
  if (definition?.kind === 'orchestration' && definition.changesElsewhere !== undefined) return true;
  return !withoutEffect.has(findDefinedType(type) ?? type);
}
