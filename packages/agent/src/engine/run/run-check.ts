/** Checks a run's pipelines before the first step (docs/adr/0035). */
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  checkRun,
  describeFinding,
  type ExpressionEngine,
  type Finding,
  type PlacedExpression,
  type RunCheck,
  type SharedPipelineUse,
} from '@headgate/pipelines';
import type { RunArtifact, RunContext } from '../context/run-context.ts';
import type { RunRequest } from '../ports/ports.ts';
import type { RunCaches } from '../ports/run-caches.ts';

/** Findings listed in one message. The rest is counted. */
const namedFindings = 10;

interface CheckEngine {
  expressions: ExpressionEngine;
  caches: RunCaches;
}

export function createRunCheck(
  request: RunRequest,
  engine: CheckEngine,
  sharedArtifact: (use: SharedPipelineUse) => RunArtifact,
): RunContext['check'] {
  const sound = new Set<string>();
  const names = {
    variables: new Set(request.variables.map(({ name }) => name)),
    warehouse: request.warehouse,
    warehouseFault: request.warehouseFault,
    shared: (use: SharedPipelineUse) => sharedArtifact(use).checked,
    isSound: ({ title }: { title: string }, path: string) => sound.has(`${title}\n${path}`),
    nextTurn,
  };
  const results = new Map<string, Promise<string | undefined>>();
  return (artifact, path) => {
    const key = `${artifact.title}\n${path}`;
    if (sound.has(key)) return Promise.resolve(undefined);
    const result = results.get(key) ?? check();
    results.set(key, result);
    return result;

    async function check(): Promise<string | undefined> {
      const { errors, errorsTotal, checked } = await checkRun(artifact.checked, path, names);
      const wrong = await findWrongExpressions(checked, engine);
      const total = errorsTotal + wrong.length;
      if (total > 0) return describeRefusal([...errors, ...wrong], total);
      for (const each of checked) sound.add(`${each.artifact.title}\n${each.path}`);
      return undefined;
    }
  };
}

/** Reports expressions with a syntax error. Each distinct text is compiled once. */
async function findWrongExpressions(
  checked: RunCheck['checked'],
  { expressions, caches: kept }: CheckEngine,
): Promise<Finding[]> {
  const placed: (PlacedExpression & { path: string })[] = [];
  for (const { artifact, path } of checked)
    for (const each of await artifact.expressions(path))
      placed.push({ ...each, path: `${artifact.prefix}${path}` });
  const sources = [...new Set(placed.map(({ source }) => source))].filter((source) => !kept.isSound(source));
  if (sources.length === 0) return [];
  const faults = await expressions.check(sources);
  kept.addSound(sources.filter((_, index) => faults[index] === undefined));
  const faultOf = new Map(sources.map((source, index) => [source, faults[index]]));
  return placed.flatMap(({ source, ...place }): Finding[] => {
    const message = faultOf.get(source);
    return message === undefined ? [] : [{ ...place, code: 'invalid-expression', message, level: 'error' }];
  });
}

function describeRefusal(errors: readonly Finding[], total: number): string {
  const described = errors.slice(0, namedFindings).map(describeFinding);
  if (total === 1) return `not started: ${described.join('')}`;
  const more = total > described.length ? [`and ${total - described.length} more`] : [];
  return [`not started, because the pipelines have ${total} errors:`, ...described, ...more].join('\n');
}
