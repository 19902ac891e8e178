/**
 * Rules of a version itself: JavaScript over the parsed pipeline, in the sandbox of expressions. An expression gives
 * true, a message, or a list of names of components for what it finds; false, null, '' or an empty list for nothing.
 */
import { createExpressionEngine, ExpressionError } from '../expressions/expressions.ts';
import { getMap, isOrchestration, type ReviewedPipeline } from './facts/reviewed-pipeline.ts';
import type { OwnRule } from './rule-settings.ts';

export interface OwnFinding {
  readonly rule: OwnRule;
  readonly component?: string;
  readonly message: string;
}

export interface OwnFailure {
  readonly rule: OwnRule;
  readonly message: string;
}

/** For one rule and one pipeline. */
const bounds = { milliseconds: 200, bytes: 32 * 1_048_576 };
/** Findings of one rule in one pipeline. */
const findingLimit = 100;
const messageLimit = 500;

const before = 'JSON.stringify(((pipeline) => (';
const after = '\n))(JSON.parse(sysvar.pipeline)))';

/** Expressions share no state, so that one engine does for all pipelines of a thread; to load it takes 30 ms. */
const engine = createExpressionEngine(bounds);

/** @param skipped ids of rules that failed for an earlier pipeline of the same review */
export async function applyOwnRules(
  own: readonly OwnRule[],
  reviewed: ReviewedPipeline,
  skipped: ReadonlySet<string>,
): Promise<{ findings: OwnFinding[]; failures: OwnFailure[] }> {
  const findings: OwnFinding[] = [];
  const failures: OwnFailure[] = [];
  const rules = own.filter(({ id }) => !skipped.has(id));
  if (rules.length === 0) return { findings, failures };
  const sysvar = { pipeline: JSON.stringify(describe(reviewed)) };
  for (const rule of rules) {
    const result = await evaluate(rule, sysvar);
    if ('failure' in result) failures.push({ rule, message: result.failure });
    else if (!isResult(result.value)) failures.push({ rule, message: describeOddResult(result.value) });
    else findings.push(...listFindings(rule, result.value, reviewed));
  }
  return { findings, failures };
}

async function evaluate(
  { expression }: OwnRule,
  sysvar: Readonly<Record<string, string>>,
): Promise<{ value: unknown } | { failure: string }> {
  try {
    const [fault] = await engine.check([expression]);
    if (fault !== undefined) return { failure: fault };
    const json = await engine.evaluate(`${before}${expression}${after}`, { variables: [], sysvar });
    return { value: typeof json === 'string' ? JSON.parse(json) : null };
  } catch (error) {
    if (error instanceof SyntaxError)
      return { failure: 'the expression does not give a value: give true, a text, or a list' };
    if (!(error instanceof ExpressionError)) throw error;
    return { failure: error.message.split(`: ${before}`)[0] ?? '' };
  }
}

/** Anything else would be taken for no finding. */
const isResult = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  typeof value === 'boolean' ||
  typeof value === 'string' ||
  (Array.isArray(value) && value.every((each) => typeof each === 'string'));

const describeOddResult = (value: unknown): string =>
  `it gave ${Array.isArray(value) ? 'a list of other things than texts' : `a value of the type ${typeof value}`}: give true or false, a message, or a list of names of components or messages`;

function listFindings(rule: OwnRule, value: unknown, { pipeline }: ReviewedPipeline): OwnFinding[] {
  if (value === true) return [{ rule, message: rule.message }];
  if (typeof value === 'string' && value !== '') return [{ rule, message: value.slice(0, messageLimit) }];
  if (!Array.isArray(value)) return [];
  return value.slice(0, findingLimit).map((each: unknown) => {
    const text = String(each).slice(0, messageLimit);
    return pipeline.components.has(text)
      ? { rule, component: text, message: rule.message }
      : { rule, message: text };
  });
}

/** What an expression sees as `pipeline`. */
function describe({ pipeline, value, components }: ReviewedPipeline) {
  const { name, path, type, description } = pipeline;
  const declared = getMap(getMap(getMap(value).pipeline).variables);
  return {
    ...{ name, path, type, description },
    variables: [...pipeline.variables.values()].map((variable) => ({
      name: variable.name,
      type: variable.type,
      scope: variable.behaviour,
      visibility: variable.visibility,
      description: getMap(getMap(declared[variable.name]).metadata).description ?? '',
      defaultValue: variable.defaultValue,
    })),
    components: components.map(({ name, component, parameters, runs }) => ({
      ...{ name, type: component.type, parameters, runs },
      ...(isOrchestration(component)
        ? {
            transitions: component.transitions,
            skipped: component.skipped,
            iterationTarget: component.iterationTarget ?? null,
          }
        : { sources: component.sources }),
    })),
  };
}
