/** A publication from a branch of a repository that is hosted here: 500 pipelines, one changed. */
import { median, spread, verdictAtMost } from './finding.ts';
import { startServer } from './server-process.ts';
import type { Work } from './work.ts';

const files = 500;
const filesOfCommit = 100;
const mostMilliseconds = 300;
const warmUp = 3;

const pipeline = (text: string) => `type: "orchestration"
version: "1.0"
pipeline:
  components:
    Start:
      type: "start"
      transitions:
        unconditional:
        - "Make a table"
    Make a table:
      type: "sql-executor"
      parameters:
        sqlScript: "CREATE OR REPLACE TABLE greeting AS SELECT '${text}' AS text"
`;
const buildFile = (number: number, text: string) => ({
  path: `pipelines/greet ${number}.orch.yaml`,
  content: pipeline(text),
});

export const gitPublication: Work = async (settings) => {
  await using ending = new AsyncDisposableStack();
  const server = ending.adopt(await startServer(settings.profileFolder), (started) => started.stop());
  const project = { name: 'published', warehouse: 'DUCKDB', agentDeploymentType: 'HYBRID' };
  const { projectId } = await server.call('POST', '/projects', project);
  const path = `/projects/${projectId}`;
  await server.call('POST', `${path}/environments`, { name: 'dev' });
  await server.call('POST', `${path}/repositories`, { provider: 'headgate', repositoryName: 'pipelines' });
  const commit = (changed: object[]) =>
    server.call('POST', `${path}/repositories/commits`, {
      branch: 'main',
      message: 'change',
      files: changed,
    });
  for (let first = 0; first < files; first += filesOfCommit)
    await commit(Array.from({ length: filesOfCommit }, (_, index) => buildFile(first + index, 'hello')));
  const milliseconds: number[] = [];
  for (let round = -warmUp; round < settings.rounds; round++) {
    await commit([buildFile(7, `hello ${round}`)]);
    const began = performance.now();
    const body = { branch: 'main', environmentName: 'dev', versionName: `round ${round}` };
    await server.call('POST', `${path}/artifacts/from-git`, body);
    if (round >= 0) milliseconds.push(performance.now() - began);
  }
  return [
    {
      work: `publish from a branch, ${files} files, one changed`,
      measured: `${spread(milliseconds, 0)} ms`,
      limit: `≤ ${mostMilliseconds} ms`,
      verdict: verdictAtMost(median(milliseconds), mostMilliseconds),
      rounds: milliseconds,
    },
  ];
};
