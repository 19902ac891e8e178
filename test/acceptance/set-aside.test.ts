/**
 * A task that takes its server down twice in a row is set aside by the next one, with an event; then others are
 * worked on.
 */
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import type { AiMessageData, AiTask } from '@headgate/contract';
import {
  type ModelRequest,
  type ModelServer,
  nameModel,
  startModelServer,
} from '../../packages/server/testing/model-server.ts';
import { waitUntil } from '../../packages/server/testing/waiting.ts';
import type { ApiClient } from './harness/client.ts';
import { ended, Installation, pidOf } from './harness/installation.ts';
import { signal } from './harness/processes.ts';
import { Project, sqlScript } from './harness/project.ts';

describe('a server killed twice while it works on a task', { timeout: 600_000 }, () => {
  let model: ModelServer;
  let headgate: Installation;
  let client: ApiClient;
  let project: Project;
  let start: ChildProcess;

  before(async () => {
    model = await startModelServer('openai');
    headgate = await Installation.create({
      environment: {
        ...nameModel(model),
      },
    });
    start = await headgate.start();
    client = headgate.client();
    project = await Project.create(client);
    await project.publish({ 'main.orch.yaml': sqlScript('select 1') });
  });
  after(async () => {
    await headgate.remove();
    await model.close();
  });

  async function createTask(message: string): Promise<string> {
    const agentConfig = { name: 'data_engineer_agent', projectId: project.id };
    const { taskId } = await client.ask('POST', '/v1/ai/agents/tasks', { agentConfig, message });
    return taskId;
  }

  async function waitForEnd(taskId: string): Promise<AiTask> {
    let task: AiTask | undefined;
    // The lease of the killed server has to end first.
    await waitUntil(`the end of the task ${taskId}`, 180, async () => {
      task = await client.ask('GET', `/v1/ai/agents/tasks/${taskId}`);
      return task?.status !== 'RUNNING';
    });
    assert.ok(task);
    return task;
  }

  it('the third server sets the task aside with an event, and works on the next one', async () => {
    // The model is asked, and each time its answer takes longer than the server lives.
    let request = Promise.withResolvers<void>();
    const never = new Promise<never>(() => undefined);
    model.play(({ messages }: ModelRequest) => {
      const isDeadly = messages.some(({ text }) => text?.includes('Deadly'));
      if (!isDeadly) return { text: 'Done.' };
      request.resolve();
      return { text: 'Too late.', until: never };
    });
    const deadly = await createTask('Deadly.');
    for (let death = 0; death < 2; death += 1) {
      await request.promise;
      request = Promise.withResolvers<void>();
      signal(pidOf(start), 'SIGKILL');
      await ended(start);
      start = await headgate.start();
    }

    assert.equal((await waitForEnd(deadly)).status, 'ERRORED');
    const { results } = await client.ask('GET', `/v1/ai/agents/tasks/${deadly}/messages?limit=1000`);
    const last: AiMessageData = results.at(-1).data;
    assert.ok(last.type === 'error' && last.code === 'interrupted', JSON.stringify(last));
    assert.match(last.text, /set aside: a server stopped .* 2 times in a row/);
    const events = await client.ask('GET', '/v1/events?after=oldest&eventName=ai-task-errored');
    assert.deepEqual(
      events.results.map(({ eventSubjectId }: { eventSubjectId: string }) => eventSubjectId),
      [deadly],
    );
    assert.equal((await waitForEnd(await createTask('Harmless.'))).status, 'STOPPED');
  });
});
