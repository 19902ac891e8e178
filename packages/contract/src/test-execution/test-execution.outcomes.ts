/** Problems and events of test executions. */
import { didYouMean, kind, quoted } from '../outcomes/problem-kind.ts';
import type { Outcomes } from '../outcomes/sum-of-outcomes.ts';

/** The names that a detail lists. */
const listedNames = 20;

function listNames(names: readonly string[]): string {
  const listed = names.slice(0, listedNames).map(quoted).join(', ');
  return names.length <= listedNames ? listed : `${listed} and ${names.length - listedNames} more`;
}

export const testExecutionOutcomes = {
  events: [
    'test-execution-requested',
    'test-execution-claimed',
    'test-execution-started',
    'test-execution-cancel-requested',
    'test-execution-silent',
    'test-execution-reclaimed',
    'test-execution-ended',
  ],
  problems: {
    'unknown-tests': kind<{ names: readonly string[]; versionName: string; nearest: string | undefined }>(
      422,
      'The request names tests that the version does not have.',
      ({ names, versionName, nearest }) =>
        `The version ${quoted(versionName)} has no test ${listNames(names)}; a test is an orchestration with a component of type run-pipeline-under-test.${didYouMean(nearest)}`,
    ),
    'unknown-tested-pipelines': kind<{
      names: readonly string[];
      versionName: string;
      nearest: string | undefined;
    }>(
      422,
      'The request names pipelines that the version does not have.',
      ({ names, versionName, nearest }) =>
        `The version ${quoted(versionName)} has no pipeline ${listNames(names)}.${didYouMean(nearest)}`,
    ),
    'list-of-scope': kind<{ member: string; scope: string; isNeeded: boolean }>(
      422,
      'The request lacks the list that its scope needs, or has another one.',
      ({ member, scope, isNeeded }) =>
        isNeeded
          ? `The scope ${scope} needs \`${member}\`, such as [{"${member === 'tests' ? 'testName' : 'pipelineName'}": "folder/name"}].`
          : `The scope ${scope} does not read \`${member}\`: leave it out, or send another scope.`,
    ),
    'no-tests': kind<{ names: readonly string[]; versionName: string }>(
      422,
      'The version has no test to run.',
      ({ names, versionName }) =>
        names.length === 0
          ? `The version ${quoted(versionName)} has no tests: publish a version with an orchestration that has a component of type run-pipeline-under-test.`
          : `The version ${quoted(versionName)} has no test that runs ${listNames(names)}: write one with a component of type run-pipeline-under-test.`,
    ),
    'too-many-tests': kind<{ count: number; most: number }>(
      422,
      'The execution would run too many tests.',
      ({ count, most }) =>
        `The execution would run ${count} tests, but ${most} is the limit: run them in parts, by the scope TEST or PIPELINE.`,
    ),
    'test-execution-not-found': kind<{ id: string }>(
      404,
      'The project has no such test execution.',
      ({ id }) => `There is no test execution ${id}.`,
    ),
    'tests-ended': kind<{ id: string; status: string }>(
      409,
      'The test execution has already ended.',
      ({ id, status }) => `The test execution ${id} has already ended: ${status}.`,
    ),
  },
} as const satisfies Outcomes;
