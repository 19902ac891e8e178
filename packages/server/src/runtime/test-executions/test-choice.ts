/** The tests that a request runs: chosen from the pipelines of the version by the scope of the request. */
import {
  type BodyOf,
  nearestName,
  type startTestExecution,
  type TestScope,
  testExecutionLimit,
} from '@headgate/contract';
import { listCandidatePaths } from '@headgate/pipelines';
import { type PipelineDescription, renderPipelinePath } from '../../delivery/artifacts/index.ts';
import { problem } from '../../kernel/http/problems.ts';

type StartRequest = BodyOf<typeof startTestExecution>;

export interface ChosenTest {
  testName: string;
  pipelineName: string;
}

interface TestedPipeline extends Pick<PipelineDescription, 'name' | 'type'> {
  /** Null if the pipeline is no test. */
  testedPipelines: readonly string[] | null;
}

interface Version {
  name: string;
  pipelines: readonly TestedPipeline[];
}

const memberOf = { TEST: 'tests', PIPELINE: 'pipelines', PROJECT: undefined } as const satisfies Record<
  TestScope,
  'tests' | 'pipelines' | undefined
>;

/** Throws `list-of-scope` unless the request has exactly the list that its scope needs. */
export function requireListOfScope(body: StartRequest): void {
  const { scope } = body;
  const needed = memberOf[scope];
  for (const member of ['tests', 'pipelines'] as const) {
    const isNeeded = member === needed;
    const isGiven = isNeeded ? (body[member] ?? []).length > 0 : body[member] !== undefined;
    if (isGiven !== isNeeded) throw problem('list-of-scope', { member, scope, isNeeded });
  }
}

/**
 * In the order of the version's pipelines; a test that is named twice runs once. Throws `unknown-tests`,
 * `unknown-tested-pipelines`, `no-tests` and `too-many-tests`.
 */
export function chooseTests(body: StartRequest, version: Version): ChosenTest[] {
  const tests = listTests(version.pipelines);
  const chosen = selectTests(body, version, tests);
  if (chosen.length > testExecutionLimit)
    throw problem('too-many-tests', { count: chosen.length, most: testExecutionLimit });
  return chosen.map(({ testName, pipelineNames }) => ({ testName, pipelineName: pipelineNames[0] ?? '' }));
}

interface KnownTest {
  testName: string;
  pipelineNames: readonly string[];
}

/** Names of pipelines under test become paths of the version; one that is an expression stays as written. */
function listTests(pipelines: readonly TestedPipeline[]): KnownTest[] {
  const paths = new Set(pipelines.map(renderPipelinePath));
  const resolve = (name: string) => listCandidatePaths(name).find((path) => paths.has(path)) ?? name;
  return pipelines.flatMap((pipeline) => {
    const { testedPipelines } = pipeline;
    if (testedPipelines === null) return [];
    return [{ testName: renderPipelinePath(pipeline), pipelineNames: testedPipelines.map(resolve) }];
  });
}

function selectTests(body: StartRequest, version: Version, tests: readonly KnownTest[]): KnownTest[] {
  const { scope } = body;
  if (scope === 'PROJECT') {
    if (tests.length === 0) throw problem('no-tests', { names: [], versionName: version.name });
    return [...tests];
  }
  if (scope === 'TEST') {
    const named = (body.tests ?? []).map(({ testName }) => testName);
    const chosen = requireNames(
      named,
      tests.map(({ testName }) => testName),
      (names, nearest) => problem('unknown-tests', { names, versionName: version.name, nearest }),
    );
    return tests.filter(({ testName }) => chosen.has(testName));
  }
  const named = (body.pipelines ?? []).map(({ pipelineName }) => pipelineName);
  const chosen = requireNames(named, version.pipelines.map(renderPipelinePath), (names, nearest) =>
    problem('unknown-tested-pipelines', { names, versionName: version.name, nearest }),
  );
  const tested = new Set(tests.flatMap(({ pipelineNames }) => pipelineNames));
  const untested = [...chosen].filter((name) => !tested.has(name));
  if (untested.length > 0) throw problem('no-tests', { names: untested, versionName: version.name });
  return tests.filter(({ pipelineNames }) => pipelineNames.some((name) => chosen.has(name)));
}

/** The paths that the names mean. All unknown names are in one problem. */
function requireNames(
  names: readonly string[],
  known: readonly string[],
  createProblem: (unknown: readonly string[], nearest: string | undefined) => Error,
): Set<string> {
  const paths = new Set(known);
  const chosen = new Set<string>();
  const unknown = names.filter((name) => {
    const path = listCandidatePaths(name).find((each) => paths.has(each));
    if (path !== undefined) chosen.add(path);
    return path === undefined;
  });
  if (unknown.length === 0) return chosen;
  const [first = ''] = unknown;
  const path = listCandidatePaths(first)[0] ?? first;
  throw createProblem(unknown, nearestName(first, known) ?? nearestName(path, known));
}
