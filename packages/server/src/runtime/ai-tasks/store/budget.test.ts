/** Budgets of tokens, money and minutes, of a task and of an account for a day. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { listMessages, startAiScene, tasksPath } from '../../../../testing/ai-task-scene.ts';
import { requireProblem } from '../../../../testing/client.ts';

const scene = await startAiScene({
  settings: {
    HEADGATE_AI_TASK_TOKENS: '100000',
    HEADGATE_AI_TASK_COST: '100',
    HEADGATE_AI_TASK_MINUTES: '10',
    HEADGATE_AI_ACCOUNT_TOKENS: '200000',
    HEADGATE_AI_ACCOUNT_COST: '200',
    HEADGATE_AI_ACCOUNT_MINUTES: '20',
    // A turn of the scripted model server costs 0.01.
    HEADGATE_AI_INPUT_PRICE: '10000',
  },
});
const { admin, model, server } = scene;
after(() => assert.deepEqual(model.faults, []));

const look = { name: 'look', input: { text: 'again' } };
const accountId = scene.account.accountId;

/** A task that goes on until something stops it. Returns its last message. */
async function loop(path: string): Promise<string> {
  const task = await scene.settled(path);
  assert.equal(task.status, 'STOPPED');
  const last = (await listMessages(admin, path)).at(-1);
  assert.ok(last?.type === 'state');
  return last.reason;
}

/** Each is just below its limit: the next turn uses it up. */
const budgets = [
  {
    ...{ name: 'tokens', column: 'tokens', ofTask: 99_990, setting: 'TOKENS' },
    words: { task: '100000 tokens', account: '200000 tokens' },
  },
  {
    ...{ name: 'money', column: 'cost', ofTask: 99 * 10_000 + 1, setting: 'COST' },
    words: {
      task: '1.00 in the currency of the prices',
      account: '2.00 in the currency of the prices',
    },
  },
  {
    ...{ name: 'minutes', column: 'milliseconds', ofTask: 600_000 - 1, setting: 'MINUTES' },
    words: { task: '10 minutes', account: '20 minutes' },
  },
];

for (const { name, column, ofTask, setting, words } of budgets)
  test(`a task stops when it has used up its ${name}`, async () => {
    model.play(() => ({ calls: [look], until: delay(2) }));
    const path = await scene.create('Loop.');
    const stored = column === 'tokens' ? 'input_tokens' : column;
    await server.database.query(`update ai_task set ${stored} = $1 where task_id = $2`, [
      ofTask,
      path.split('/').at(-1),
    ]);
    const said = `The task has used up its budget of ${words.task} (HEADGATE_AI_TASK_${setting}).`;
    const before = model.requests.length;
    assert.equal(await loop(path), said);
    assert.equal(model.requests.length - before, 1, 'the turn that uses it up is the last one');
    const resumed = requireProblem(
      await admin.post(`${path}/messages`, { message: 'Go on.' }),
      409,
      'ai-task-budget',
    );
    assert.ok(resumed.detail.startsWith(said), resumed.detail);
  });

for (const { name, column, ofTask, setting, words } of budgets)
  test(`an account has ${name} for a day, which all its tasks use up`, async () => {
    server.clock.advance(86_400);
    model.play(() => ({ calls: [look], until: delay(2) }));
    const paths = [await scene.create('Loop.'), await scene.create('Loop too.')];
    const used = { turns: 0, tokens: 0, cost: 0, milliseconds: 0, [column]: ofTask + limitOf(column) };
    await server.database.query(
      `insert into ai_usage (account_id, used_on, turns, tokens, cost, milliseconds)
       values ($1, ($2::timestamptz at time zone 'UTC')::date, $3, $4, $5, $6)`,
      [accountId, server.clock.now(), used.turns, used.tokens, used.cost, used.milliseconds],
    );
    const inSettings = `HEADGATE_AI_ACCOUNT_${setting}`;
    for (const path of paths)
      assert.equal(
        await loop(path),
        `For today, the account has used up its budget of ${words.account} (${inSettings}).`,
      );
    const body = { agentConfig: { name: 'x', projectId: scene.project.projectId }, message: 'x' };
    const refused = requireProblem(await admin.post(tasksPath, body), 409, 'ai-task-budget');
    const detail = `The AI tasks of this account have used up the budget of ${words.account} for today (${inSettings})`;
    assert.ok(refused.detail.startsWith(detail), refused.detail);
    server.clock.advance(86_400);
    model.play(() => ({ text: 'A new day.' }));
    const [path] = paths;
    assert.equal((await admin.post(`${path}/messages`, { message: 'Go on.' })).status, 200);
    assert.equal((await scene.settled(path ?? '')).status, 'STOPPED');
  });

/** What a task may use of it, which is half of what an account may. */
function limitOf(column: string): number {
  return { tokens: 100_000, cost: 1_000_000, milliseconds: 600_000 }[column] ?? 0;
}
