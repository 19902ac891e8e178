/** Uploads with tests, and test executions, created through the API. */
import type { TestScope, WorkOf } from '@headgate/contract';
import { createInstance } from './agent.ts';
import type { Place } from './place.ts';
import { mainPipeline } from './place.ts';
import type { Part } from './project.ts';
import { upload } from './project.ts';

/** A test of a pipeline, as a file. */
export function createTestFile(name: string, pipelineName: string): Part {
  const content = `type: "orchestration"
version: "1.0"
pipeline:
  components:
    Start:
      type: "start"
      transitions:
        unconditional:
        - "Run"
    Run:
      type: "run-pipeline-under-test"
      parameters:
        pipelineName: "${pipelineName}"
design:
  components: {}
`;
  return { name, content };
}

/** Publishes a version with the pipeline `main` and two tests of it; returns its name. */
export async function publishTests({ account, project, named }: Place): Promise<string> {
  const versionName = named('tested');
  const parts = [
    mainPipeline,
    createTestFile('tests/main counts.orch.yaml', 'main'),
    createTestFile('tests/main loads.orch.yaml', 'main.orch.yaml'),
  ];
  await upload(account.admin, project, parts, { versionName });
  return versionName;
}

export async function createTestExecution(place: Place, input: { scope?: TestScope } = {}): Promise<string> {
  const { account, agent, project } = place;
  const versionName = await publishTests(place);
  const body = { scope: 'PROJECT', environmentName: 'dev', versionName, agentId: agent.agentId, ...input };
  const path = `${project.path}/test-executions`;
  const { testExecutionId } = (await account.admin.post<{ testExecutionId: string }>(path, body)).body;
  return `${path}/${testExecutionId}`;
}

/** An instance that can run tests. */
export async function createTestingInstance({ agent }: Pick<Place, 'agent'>) {
  const instance = createInstance(agent);
  await instance.hello({ abilities: ['pipeline-execution', 'test-execution'] });
  return {
    ...instance,
    async claimTests(waitSeconds = 0): Promise<WorkOf<'test-execution'>> {
      const work = (await instance.claim(100, waitSeconds)).work as unknown as WorkOf<'test-execution'>[];
      const found = work.find(({ kind }) => kind === 'test-execution');
      if (found === undefined) throw new Error('no test execution to claim');
      return found;
    },
  };
}

/** A test execution in which one test has passed and one has failed. */
export async function createEndedTestExecution(place: Place): Promise<string> {
  const path = await createTestExecution(place);
  const instance = await createTestingInstance(place);
  const work = await instance.claimTests();
  await instance.report(work, { type: 'started' });
  const failed = {
    message: 'tests/main counts.orch.yaml: "Assert": the table "orders" has 2 rows, expected: Equal To 3',
    expected: 'Equal To 3 rows',
    actual: '2 rows',
  };
  await instance.report(work, {
    type: 'tested',
    results: [
      { index: 0, status: 'FAILED', ...failed, durationMs: 40 },
      { index: 1, status: 'PASSED', durationMs: 31 },
    ],
  });
  const message = '1 of 2 tests did not pass: tests/main counts.orch.yaml';
  await instance.report(work, { type: 'completed', outcome: { status: 'FAILED', message } });
  return path;
}
