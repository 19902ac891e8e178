/** For tests: plans components given as plain values, as a file would give them. */
import assert from 'node:assert/strict';
import { createExpressionEngine } from './expressions.ts';
import { planComponent } from './orchestration-plan.ts';
import { parsePipeline } from './parse.ts';
import type { Orchestration, Transformation } from './pipeline.ts';
import { resolveParameters } from './resolve.ts';
import { duckdb } from './sql/duckdb.ts';
import { planTransformation, type TransformationPlan } from './transformation-plan.ts';
import { createScope, type Variable } from './variables.ts';

const engine = createExpressionEngine();

/** JSON is YAML. */
function fileOf(type: string, components: Record<string, object>): string {
  return JSON.stringify({ type, version: '1.0', pipeline: { components }, design: {} });
}

export function planOf(components: Record<string, object>): Promise<TransformationPlan> {
  const { pipeline, error } = parsePipeline('p.tran.yaml', fileOf('transformation', components));
  assert.equal(error, undefined);
  const evaluation = { engine, scope: createScope([]), sysvar: {} };
  return planTransformation(pipeline as Transformation, duckdb, (component) =>
    resolveParameters(component.parameters, evaluation),
  );
}

/** `component: message` of the first component that cannot be planned. */
export async function messageOfFailure(components: Record<string, object>): Promise<string> {
  const [failure] = (await planOf(components)).failures;
  return failure === undefined ? 'no failure' : `${failure.component}: ${(failure.error as Error).message}`;
}

/** The action of one component of an orchestration. */
export function actionOf(component: object, variables: readonly Variable[] = []) {
  const { pipeline, error } = parsePipeline('p.orch.yaml', fileOf('orchestration', { It: component }));
  assert.equal(error, undefined);
  const orchestration = pipeline as Orchestration;
  const It = orchestration.components.get('It');
  assert.ok(It);
  return planComponent(orchestration, It, duckdb, { engine, scope: createScope(variables), sysvar: {} });
}
