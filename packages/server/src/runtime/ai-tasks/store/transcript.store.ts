/** What a turn reads of the messages of its task: the latest ones, and the gist of those before. */
import type { AiDecisionType, AiMessageData } from '@headgate/contract';
import { type Read, type RowOf, statement, typed } from '../../../kernel/database/database.ts';
import { hideSecrets } from '../../ai-tools/index.ts';

const lineRow = {
  position: 'bigint',
  group_id: 'uuid',
  data: typed<AiMessageData>('jsonb'),
  /** Of a turn: the last message that the model had got. */
  through_position: 'bigint?',
} as const;
export type TranscriptRow = RowOf<typeof lineRow>;

const latest = statement(
  {
    parameters: { account_id: 'uuid', task_id: 'uuid', before: 'bigint', limit: 'bigint' },
    row: lineRow,
  },
  `
  select m.position, m.group_id, m.data, u.through_position
  from ai_message m
  left join ai_turn u on u.account_id = m.account_id and u.task_id = m.task_id and u.group_id = m.group_id
  where m.account_id = $account_id and m.task_id = $task_id and m.position < $before
    and m.data ->> 'type' in ('user', 'assistant', 'tool-call', 'tool-result')
  order by m.position desc limit $limit`,
);

interface TaskKey {
  account_id: string;
  task_id: string;
}

export interface Transcript {
  /** The latest messages in their order. The first turn among them is whole. */
  rows: TranscriptRow[];
  isWhole: boolean;
}

const firstPage = 64;
const longestPage = 500;

/**
 * Reads back from the last message until there are more bytes than a conversation may have, so that the memory of a
 * turn does not grow with its task.
 */
export async function readTranscript(
  read: Read,
  { account_id, task_id, last_position }: TaskKey & { last_position: number },
  mostBytes: number,
): Promise<Transcript> {
  const rows: TranscriptRow[] = [];
  let bytes = 0;
  let limit = firstPage;
  for (;;) {
    const before = rows.at(-1)?.position ?? last_position + 1;
    const page = await read(latest, { account_id, task_id, before, limit });
    rows.push(...page);
    if (page.length < limit) return { rows: rows.reverse(), isWhole: true };
    for (const { data } of page) bytes += Buffer.byteLength(JSON.stringify(data));
    const groups = listTurns(rows);
    // The oldest turn may have begun before.
    if (bytes > mostBytes && groups.length !== 1)
      return { rows: rows.reverse().filter((row) => row.group_id !== groups.at(-1)), isWhole: false };
    const rowsLeft = ((mostBytes - bytes) * rows.length) / bytes;
    limit = Math.round(Math.min(longestPage, Math.max(firstPage, rowsLeft)));
  }
}

/** The groups of the turns, in the order of the rows. */
function listTurns(rows: readonly TranscriptRow[]): string[] {
  return [...new Set(rows.filter(({ data }) => data.type !== 'user').map((row) => row.group_id))];
}

const decisionsOf = statement(
  {
    parameters: { account_id: 'uuid', task_id: 'uuid' },
    row: {
      decision: typed<AiDecisionType>('text'),
      tool_name: 'text',
      input: 'text',
      reason: 'text?',
      answers: typed<{ questionIndex: number; selectedOptions: string[] }[] | null>('jsonb'),
    },
  },
  `
  select decision, tool_name, left(input, 200) as input, reason, answers from ai_call
  where account_id = $account_id and task_id = $task_id and decision is not null order by turn, number`,
);

const firstMessage = statement(
  { parameters: { account_id: 'uuid', task_id: 'uuid' }, row: { text: 'text' } },
  `
  select left(data ->> 'text', 1000) as text from ai_message
  where account_id = $account_id and task_id = $task_id and position = 1`,
);

export interface Decision {
  decision: AiDecisionType;
  toolName: string;
  /** The beginning of its JSON. */
  input: string;
  reason: string | undefined;
  chosen: string | undefined;
}

/** What a shortened conversation keeps of all messages, with secrets masked. */
export interface Gist {
  task: string;
  decisions: readonly Decision[];
}

export async function readGist(read: Read, { account_id, task_id }: TaskKey): Promise<Gist> {
  const key = { account_id, task_id };
  const [decisions, [first]] = await Promise.all([read(decisionsOf, key), read(firstMessage, key)]);
  return {
    task: hideSecrets(first?.text ?? ''),
    decisions: decisions.map(({ decision, tool_name: toolName, input, reason, answers }) => {
      const chosen = answers?.map(({ selectedOptions }) => selectedOptions.join(', ')).join('; ');
      const hide = (text: string | null | undefined) =>
        text === null || text === undefined ? undefined : hideSecrets(text);
      return { decision, toolName, input, reason: hide(reason), chosen: hide(chosen) };
    }),
  };
}
