/** Which components may change more than variables: tables, files, or something elsewhere. */
import { findDefinedType, findDefinition } from '../components/registry.ts';

/** Iterators and calls. The steps of what they run are judged by themselves. */
const runningOthers: ReadonlySet<string> = new Set([
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
]);

const withoutEffect: ReadonlySet<string> = new Set([
  ...runningOthers,
  'start',
  'and',
  'or',
  'end-success',
  'end-failure',
  'if',
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

/** Whether components of this type run other ones, which may have effects. */
export function runsOthers(type: string): boolean {
  return runningOthers.has(findDefinedType(type) ?? type);
}

/** An unknown type may have any effect. */
export function mayHaveEffect(type: string): boolean {
  const definition = findDefinition(type);
  if (definition?.kind === 'orchestration' && definition.changesElsewhere !== undefined) return true;
  return !withoutEffect.has(findDefinedType(type) ?? type);
}
