/**
 * A real server is killed before, in and after a call of an AI task that has an effect outside of the task: a commit
 * and a run. The next server goes on: one commit, one run, and a transcript in which each call has one result.
 */
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { AiMessageData, AiTask, RepositoryCommit } from '@headgate/contract';
import { roundsOr, testSeed as seed } from '@headgate/contract/testing/rounds';
import {
  type ModelRequest,
  type ModelServer,
  nameModel,
  type ScriptedAnswer,
  startModelServer,
} from '../../packages/server/testing/model-server.ts';
import { seededRandom } from '../../packages/server/testing/seeded-random.ts';
import { waitUntil } from '../../packages/server/testing/waiting.ts';
import type { ApiClient } from './harness/client.ts';
import { ended, Installation, pidOf } from './harness/installation.ts';
import { signal } from './harness/processes.ts';
import { Project, sqlScript } from './harness/project.ts';

const rounds = roundsOr(1);
const tools = ['commit', 'run_pipeline'] as const;
type ToolName = (typeof tools)[number];
/** `answered`: some time after the model asked for the call. `effect`: it is seen. `asked-again`: with the result. */
const moments = ['answered', 'effect', 'answered', 'asked-again'] as const;
type Moment = (typeof moments)[number];
/** How long the calls take on a machine with little to do. */
const longestMilliseconds = 400;

describe(`a server killed around a call (TEST_SEED=${seed})`, { timeout: 600_000 + rounds * 60_000 }, () => {
  const random = seededRandom(seed);
  let model: ModelServer;
  let headgate: Installation;
  let client: ApiClient;
  let project: Project;
  let start: ChildProcess;
  let base: string;
  const runIds = new Set<string>();

  before(async () => {
    model = await startModelServer('openai');
    headgate = await Installation.create({
      environment: {
        ...nameModel(model),
        // The run ends soon after its agent.
        HEADGATE_LEASE_SECONDS: '2',
        HEADGATE_HEARTBEAT_SECONDS: '1',
        HEADGATE_GRACE_SECONDS: '1',
      },
    });
    start = await headgate.start();
    client = headgate.client();
    project = await Project.create(client);
    await project.publish({ 'main.orch.yaml': sqlScript('select 1') });
    const repository = { provider: 'headgate', repositoryName: 'pipelines', providerParameters: {} };
    await client.ask('POST', `${project.path}/repositories`, repository);
    const first = { branch: 'main', message: 'Begin', files: [{ path: 'README.md', content: 'Hello.' }] };
    base = (await client.ask('POST', `${project.path}/repositories/commits`, first)).commitId;
  });
  after(async () => {
    await headgate.remove();
    await model.close();
    assert.deepEqual(model.faults, []);
  });

  const nameBranch = (round: number) => `round-${round}`;

  function answerOf(tool: ToolName, round: number): ScriptedAnswer {
    const edit = { path: `round-${round}.txt`, content: `Round ${round}.` };
    return tool === 'run_pipeline'
      ? { calls: [{ name: tool, input: { pipelineName: 'main', waitSeconds: 20 } }] }
      : {
          calls: [
            { name: 'write_file', input: edit },
            { name: tool, input: { message: `Round ${round}` } },
          ],
        };
  }

  /** The commit that the branch has in the repository, before the server says so. */
  function readHead(round: number): string | undefined {
    const folder = join(headgate.dataDirectory, 'git/repositories', `${project.id}.git`);
    try {
      return readFileSync(join(folder, 'refs/heads', nameBranch(round)), 'utf8').trim();
    } catch {
      return undefined;
    }
  }

  async function listNewRuns(): Promise<string[]> {
    const path = `/v1/pipeline-executions?projectId=${project.id}&limit=100`;
    const { results } = await client.ask('GET', path);
    const ids: string[] = results.map((run: { pipelineExecutionId: string }) => run.pipelineExecutionId);
    return ids.filter((id) => !runIds.has(id));
  }

  async function hasEffect(tool: ToolName, round: number): Promise<boolean> {
    if (tool === 'run_pipeline') return (await listNewRuns()).length > 0;
    return ![undefined, '', base].includes(readHead(round));
  }

  /** Plays both tasks, and returns when it is time to kill. */
  async function waitForMoment(tool: ToolName, moment: Moment, round: number): Promise<void> {
    const reached = Promise.withResolvers<void>();
    model.play(({ messages }: ModelRequest) => {
      const request = messages.find(({ role }) => role === 'user')?.text ?? '';
      const own = tools.find((name) => request.includes(name)) ?? assert.fail(request);
      const isFirst = !messages.some(({ role }) => role === 'assistant');
      if (own === tool && moment === (isFirst ? 'answered' : 'asked-again')) reached.resolve();
      return isFirst ? answerOf(own, round) : { text: 'Done.' };
    });
    // The next write of the server is a few milliseconds away.
    if (moment === 'effect') while (!(await hasEffect(tool, round))) await delay(1);
    else await reached.promise;
    if (moment === 'answered') await delay(random() * longestMilliseconds);
  }

  async function createTask(tool: ToolName, round: number): Promise<string> {
    const commits = { targetBranchName: nameBranch(round), generateBranch: false };
    const where = tool === 'commit' ? commits : { environmentName: 'dev' };
    const { taskId } = await client.ask('POST', '/v1/ai/agents/tasks', {
      agentConfig: { name: 'data_engineer_agent', projectId: project.id, ...where },
      message: `Use ${tool}.`,
      grantedPermissions: ['write_file', ...tools].map((toolName) => ({ toolName })),
    });
    return `/v1/ai/agents/tasks/${taskId}`;
  }

  /** Each call has one result, and the answer stands last. Returns the results. */
  async function requireWhole(path: string, calls: readonly string[]): Promise<string[]> {
    const task: AiTask = await client.ask('GET', path);
    const { results: page } = await client.ask('GET', `${path}/messages?limit=1000`);
    const messages: AiMessageData[] = page.map(({ data }: { data: AiMessageData }) => data);
    const said = JSON.stringify(messages);
    assert.equal(task.status, 'STOPPED', said);
    const called = messages.filter((message) => message.type === 'tool-call');
    assert.deepEqual(
      called.map(({ toolName }) => toolName),
      calls,
      said,
    );
    const results = messages.filter((message) => message.type === 'tool-result');
    assert.deepEqual(
      results.map(({ toolId, outcome }) => [toolId, outcome]),
      called.map(({ toolId }) => [toolId, 'DONE']),
      said,
    );
    const last = messages.at(-1);
    assert.equal(last?.type === 'assistant' ? last.text : said, 'Done.');
    return results.map(({ text }) => text);
  }

  async function requireOneCommit(round: number): Promise<void> {
    const path = `${project.path}/repositories/commits?branch=${nameBranch(round)}`;
    const commits: RepositoryCommit[] = (await client.ask('GET', path)).results;
    assert.deepEqual(
      commits.map(({ message }) => message.trim()),
      [`Round ${round}`, 'Begin'],
    );
  }

  /** What the killed server had done, read before the next one may take the task. */
  async function describeKill(tool: ToolName, path: string, round: number): Promise<string> {
    const { results } = await client.ask('GET', `${path}/messages?limit=1000`);
    const calls: AiMessageData[] = results.map(({ data }: { data: AiMessageData }) => data);
    const isOf = (type: string) =>
      calls.some((data) => data.type === type && 'toolName' in data && data.toolName === tool);
    const effect = (await hasEffect(tool, round)) ? 'an effect' : 'no effect';
    return `${isOf('tool-call') ? 'a call' : 'no call'}, ${effect}, ${isOf('tool-result') ? 'a result' : 'no result'}`;
  }

  for (let round = 0; round < rounds; round += 1) {
    // Both tools are killed around in two rounds, or runs with other seeds.
    const tool = tools[(round + seed) % tools.length] ?? 'commit';
    const moment = moments[Math.floor((round + seed) / tools.length) % moments.length] ?? 'effect';
    it(`round ${round + 1}: ${moment}, ${tool}`, async (context) => {
      const waiting = waitForMoment(tool, moment, round);
      const [commits, runs] = await Promise.all(tools.map((each) => createTask(each, round)));
      assert.ok(commits !== undefined && runs !== undefined);
      await waiting;
      signal(pidOf(start), 'SIGKILL');
      await ended(start);
      start = await headgate.start();
      const path = tool === 'commit' ? commits : runs;
      context.diagnostic(`killed with ${await describeKill(tool, path, round)}`);
      // The lease of the killed server has to end first.
      await waitUntil('the end of both tasks', 180, async () => {
        const tasks: AiTask[] = await Promise.all([commits, runs].map((path) => client.ask('GET', path)));
        return tasks.every(({ status }) => status !== 'RUNNING');
      });
      await requireWhole(commits, ['write_file', 'commit']);
      await requireOneCommit(round);
      const [text] = await requireWhole(runs, ['run_pipeline']);
      const [id, ...more] = await listNewRuns();
      assert.deepEqual(more, [], 'one run');
      assert.ok(id !== undefined && text?.includes(id), text);
      runIds.add(id);
    });
  }
});
