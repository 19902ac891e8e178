/**
 * Test fixture: invalid pipelines, each with the expected message. `Bad` is the invalid component. `Handled`
 * handles its failure, so that the run would end in SUCCESS if it started.
 */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are expressions of the format
import type { FindingCode, Unreadable } from '@headgate/pipelines';
import { renderTransformation, start } from '../src/engine/run/pipeline-fixture.ts';

export interface WrongPipeline {
  what: string;
  code: FindingCode;
  files: Record<string, string>;
  /** Pipeline files that the upload ignored, with the reasons. */
  ignored?: Record<string, Unreadable>;
  warehouse?: string;
  /** The versions chosen for uses of shared pipelines: files, or a fault. */
  shared?: { prefix: string; chosen: { versionName: string; files: Record<string, string> } | string };
  /** The expected message, with file and line. */
  says: RegExp;
}

export type Component = Record<string, unknown>;
export const handled = { type: 'end-success', parameters: {} };
export const done = { type: 'end-success', parameters: {} };
export const script = (sqlScript = 'create table effect as select 1', more: Component = {}) => ({
  type: 'sql-script',
  parameters: { sqlScript },
  ...more,
});

/** A component with an effect, then `Bad`, whose failure is handled. */
export function around(
  bad: Component,
  others: Record<string, Component> = {},
  variables: object = {},
): Record<string, string> {
  const transitions = { success: ['Done'], failure: ['Handled'], ...(bad.transitions as object | undefined) };
  return {
    'main.orch.yaml': lines(
      {
        Start: start('Effect'),
        Effect: script(undefined, { transitions: { success: ['Bad'] } }),
        Bad: { ...bad, transitions },
        Handled: handled,
        Done: done,
        ...others,
      },
      variables,
    ),
  };
}

/** One component per line, starting in line 5, so that tests can check the line of a finding. */
export function lines(components: Record<string, Component>, variables: object = {}): string {
  const body = Object.entries(components).map(
    ([name, each]) => `    ${JSON.stringify(name)}: ${JSON.stringify(each)}`,
  );
  return [
    'type: orchestration',
    'version: "1.0"',
    'pipeline:',
    '  components:',
    ...body,
    `  variables: ${JSON.stringify(variables)}`,
  ].join('\n');
}

export function flow(components: Record<string, Component>): Record<string, string> {
  const call = { type: 'run-transformation', parameters: { transformationJob: 'flow' } };
  const body = renderTransformation(components);
  return { ...around(call), 'flow.tran.yaml': body };
}
export const one = { type: 'sql', parameters: { query: 'select 1 as a' } };
export const output = (...sources: string[]) => ({
  type: 'rewrite-table',
  sources,
  parameters: { targetTable: 'out' },
});
