/** Talks to an AI task whose model follows a script, one call a turn. */
import assert from 'node:assert/strict';
import type { AiMessageData, AiTask, AiTaskChanges } from '@headgate/contract';
import type { ModelServer } from '../../../packages/server/testing/model-server.ts';
import { waitUntil } from '../../../packages/server/testing/waiting.ts';
import type { Call } from './ai-transcripts.ts';
import type { ApiClient } from './client.ts';

const tasksPath = '/v1/ai/agents/tasks';
const granted = ['write_file', 'delete_file', 'run_pipeline', 'run_tests', 'commit'];

interface Told {
  calls: readonly Call[];
  /** What the results say, in the order of the calls. */
  says?: readonly RegExp[];
}

export class Talk {
  readonly path: string;
  readonly #client: ApiClient;
  readonly #model: ModelServer;

  private constructor(client: ApiClient, model: ModelServer, taskId: string) {
    this.#client = client;
    this.#model = model;
    this.path = `${tasksPath}/${taskId}`;
  }

  /** Creates a task, and waits until it has stopped. */
  static async start(
    { client, model }: { client: ApiClient; model: ModelServer },
    message: string,
    { denied, ...told }: Told & { config: object; denied?: boolean | undefined },
  ): Promise<Talk> {
    play(model, told.calls);
    const { taskId } = await client.ask('POST', tasksPath, {
      agentConfig: { name: 'data_engineer_agent', environmentName: 'dev', ...told.config },
      message,
      grantedPermissions: denied ? [] : granted.map((toolName) => ({ toolName })),
    });
    const talk = new Talk(client, model, taskId);
    await talk.#follow(told);
    return talk;
  }

  /** Sends another message, and waits until the task has stopped again. */
  async say(message: string, notice: Told): Promise<void> {
    play(this.#model, notice.calls);
    await this.#client.ask('POST', `${this.path}/messages`, { message });
    await this.#follow(notice);
  }

  changes(): Promise<AiTaskChanges> {
    return this.#client.ask('GET', `${this.path}/changes`);
  }

  /** As a person who has just looked at the changes. */
  async merge(body: object = {}) {
    const { digest } = await this.changes();
    return this.#client.ask('POST', `${this.path}/merge`, { digest, ...body });
  }

  async #follow({ calls, says = [] }: Told): Promise<void> {
    await waitUntil('the end of the task', 120, async () => {
      const task: AiTask = await this.#client.ask('GET', this.path);
      for (const { toolId: id } of task.pendingDecisions)
        await this.#client.ask('POST', `${this.path}/decisions`, {
          decisions: [{ type: 'DENY', id, reason: 'Not today' }],
        });
      return task.status === 'STOPPED' || task.status === 'ERRORED';
    });
    const { results } = await this.#client.ask('GET', `${this.path}/messages?limit=1000`);
    const messages: AiMessageData[] = results.map(({ data }: { data: AiMessageData }) => data);
    const asked = messages.findLastIndex(({ type }) => type === 'user');
    const answers = messages.slice(asked).filter((each) => each.type === 'tool-result');
    assert.equal(answers.length, calls.length, JSON.stringify(messages));
    for (const [index, pattern] of says.entries()) assert.match(answers[index]?.text ?? '', pattern);
    assert.equal(messages.filter((each) => each.type === 'assistant').at(-1)?.text, 'Done.');
  }
}

function play(model: ModelServer, calls: readonly Call[]): void {
  model.play([...calls.map((call) => ({ calls: [call] })), { text: 'Done.' }]);
}
