/** Test fixture: plans components given as plain values. */
import assert from 'node:assert/strict';
import { createExpressionEngine } from '../expressions/expressions.ts';
import { resolveParameters } from '../expressions/resolve.ts';
import { createScope, type Variable } from '../expressions/variables.ts';
import { parsePipeline } from '../format/parse.ts';
import type { Orchestration, Transformation } from '../format/pipeline.ts';
import type { Dialect } from '../sql/dialect/dialect.ts';
import { duckdb } from '../sql/duckdb.ts';
import { planComponent } from './orchestration-plan.ts';
import { planTransformation, type TransformationPlan } from './transformation-plan.ts';

const engine = createExpressionEngine();

/** A pipeline file as JSON, which is valid YAML. */
function renderFile(type: string, components: Record<string, object>): string {
  return JSON.stringify({ type, version: '1.0', pipeline: { components }, design: {} });
}

export function planComponents(components: Record<string, object>): Promise<TransformationPlan> {
  const { pipeline, error } = parsePipeline('p.tran.yaml', renderFile('transformation', components));
  assert.equal(error, undefined);
  const evaluation = { engine, scope: createScope([]), sysvar: {} };
  return planTransformation(
    pipeline as Transformation,
    duckdb,
    (component) => resolveParameters(component.parameters, evaluation),
    { query: () => Promise.reject(new Error('there is no warehouse')) },
  );
}

/** `component: message` for the first component that cannot be planned. */
export async function findFailureMessage(components: Record<string, object>): Promise<string> {
  const [failure] = (await planComponents(components)).failures;
  return failure === undefined ? 'no failure' : `${failure.component}: ${(failure.error as Error).message}`;
}

/** The action of one component of an orchestration. */
export async function planAction(
  component: object,
  variables: readonly Variable[] = [],
  dialect: Dialect = duckdb,
) {
  const { pipeline, error } = parsePipeline('p.orch.yaml', renderFile('orchestration', { It: component }));
  assert.equal(error, undefined);
  const orchestration = pipeline as Orchestration;
  const It = orchestration.components.get('It');
  assert.ok(It);
  const evaluation = { engine, scope: createScope(variables), sysvar: {} };
  const { action } = await planComponent(orchestration, It, dialect, evaluation);
  return action;
}
