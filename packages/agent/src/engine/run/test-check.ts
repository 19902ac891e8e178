/**
 * Refuses a test before its first step if a component of it, or of a pipeline that it runs, changes more than
 * the scratch database and the files of the test. What is known only in the run is refused when it is reached.
 */
import {
  findDefinition,
  type LexicalRules,
  listCandidatePaths,
  type Pipeline,
  type Plain,
  type PlainMap,
  pipelinePath,
  readSharedPipelineUse,
} from '@headgate/pipelines';
import { findUnsafeStatement } from '../../warehouses/statements/test-refusals.ts';
import type { RunArtifact, RunContext } from '../context/run-context.ts';

/** Refusals listed in one message. The rest is counted. */
const namedRefusals = 10;

interface Reached {
  artifact: RunArtifact;
  path: string;
}

/** @throws Error that names each component, with its file and line */
export async function refuseUnsafeTest(
  artifact: RunArtifact,
  pipelineName: string,
  context: RunContext,
): Promise<void> {
  const refusals: string[] = [];
  const seen = new Set<string>();
  const open: Reached[] = listCandidatePaths(pipelineName).map((path) => ({ artifact, path }));
  for (const reached of open) {
    const key = `${reached.artifact.title}\n${reached.path}`;
    if (seen.has(key)) continue;
    seen.add(key);
    // A pipeline that cannot be read is reported by the check of the run.
    const pipeline = await reached.artifact.pipeline(reached.path).catch(() => undefined);
    if (pipeline === undefined) continue;
    for (const { component, reason } of listUnsafe(pipeline, context.dialect.user.lexical)) {
      const line = await reached.artifact.lineOf(reached.path, component);
      refusals.push(`${pipeline.path}, line ${line}, component "${component}": ${reason}`);
    }
    open.push(...listCalled(pipeline, reached.artifact, context));
  }
  if (refusals.length === 0) return;
  const more = refusals.length > namedRefusals ? [`and ${refusals.length - namedRefusals} more`] : [];
  throw new Error(
    [
      'the test is not started, because it would change more than its own data:',
      ...refusals.slice(0, namedRefusals),
      ...more,
    ].join('\n'),
  );
}

function* listUnsafe(
  { components }: Pipeline,
  rules: LexicalRules,
): Generator<{ component: string; reason: string }> {
  for (const component of components.values()) {
    const { name, type, parameters } = component;
    const definition = findDefinition(type);
    if (definition === undefined || isSkipped(component)) continue;
    const elsewhere = definition.kind === 'orchestration' ? definition.changesElsewhere : undefined;
    if (elsewhere !== undefined)
      yield {
        component: name,
        reason: `${type} ${elsewhere}, which a test never does: skip it in the test by an if`,
      };
    for (const [parameter, { kind }] of Object.entries(definition.parameters)) {
      const sql = kind === 'sql' ? parameters[parameter] : undefined;
      // With an expression the statement is known only when it runs.
      if (typeof sql !== 'string' || sql.includes('${')) continue;
      const unsafe = findUnsafeStatement(sql, rules);
      if (unsafe !== undefined) yield { component: name, reason: unsafe };
    }
  }
}

function isSkipped(component: object): boolean {
  return 'skipped' in component && component.skipped === true;
}

const calledBy: Readonly<Record<string, string>> = {
  'run-orchestration': 'orchestrationJob',
  'run-transformation': 'transformationJob',
  'run-pipeline-under-test': 'pipelineName',
  'run-shared-pipeline': 'sharedPipeline',
};

/** The pipelines that are named without an expression. */
function listCalled({ components }: Pipeline, artifact: RunArtifact, context: RunContext): Reached[] {
  return [...components.values()].flatMap((component) => {
    const { type, parameters } = component;
    const name = readName(parameters[calledBy[type] ?? '']);
    if (name === undefined || isSkipped(component)) return [];
    const paths =
      type === 'run-transformation' ? [pipelinePath(name, 'transformation')] : listCandidatePaths(name);
    const called = type === 'run-shared-pipeline' ? findShared(parameters, context) : artifact;
    return called === undefined ? [] : paths.map((path) => ({ artifact: called, path }));
  });
}

function findShared(parameters: PlainMap, context: RunContext): RunArtifact | undefined {
  try {
    return context.getSharedArtifact(readSharedPipelineUse(parameters));
  } catch {
    // The step that uses it fails with the reason.
    return undefined;
  }
}

function readName(value: Plain | undefined): string | undefined {
  return typeof value === 'string' && value !== '' && !value.includes('${') ? value : undefined;
}
