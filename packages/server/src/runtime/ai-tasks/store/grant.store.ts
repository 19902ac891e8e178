/** The table `ai_grant`. */
import type { AiGrantedPermission } from '@headgate/contract';
import type { TObject } from 'typebox';
import { statement, type Transaction } from '../../../kernel/database/database.ts';
import { problem } from '../../../kernel/http/problems.ts';
import type { Scope } from '../../../kernel/security/permissions.ts';
import type { Tools } from '../model/tool-set.ts';
import { digestArguments, digestTool } from './grant.ts';
import { encodeJson } from './stored-text.ts';

const keyTypes = { account_id: 'uuid', task_id: 'uuid' } as const;
const removeAll = statement(
  { parameters: keyTypes },
  'delete from ai_grant where account_id = $account_id and task_id = $task_id',
);
// A grant that is there already is now of the one who gave it last, whose rights count.
const addAll = statement(
  { parameters: { ...keyTypes, granted_by: 'uuid', now: 'timestamptz', grants: 'jsonb' } },
  `
  with given as (
    select number, written, decode(arguments, 'base64') as arguments, decode(schema, 'base64') as schema
    from jsonb_to_recordset($grants) as g (number integer, written jsonb, arguments text, schema text)
  ), repeated as (
    delete from ai_grant held using given
    where held.account_id = $account_id and held.task_id = $task_id and held.grant_as_written = given.written
      and held.schema_digest is not distinct from given.schema
  )
  insert into ai_grant (account_id, task_id, number, tool_name, grant_as_written, arguments_digest, schema_digest,
    uses_left, expires_at, granted_by, granted_at)
  select $account_id, $task_id, last.number + row_number() over (order by g.number), g.written ->> 'toolName', g.written,
    g.arguments, g.schema, (g.written ->> 'uses')::integer,
    (g.written ->> 'expiresAt')::timestamptz, $granted_by, $now
  from given g,
    (select coalesce(max(number), 0) as number from ai_grant where account_id = $account_id and task_id = $task_id) as last`,
);

interface Given {
  scope: Scope;
  taskId: string;
  grants: readonly AiGrantedPermission[];
  tools: Tools;
  now: Date;
}

/** @throws `grant-refused` */
export function addGrants(tx: Transaction, { scope, taskId, grants, tools, now }: Given): void {
  if (grants.length === 0) return;
  const rows = grants.map((written, number) => {
    const tool = requireTool(tools, written, number);
    const values = written.arguments;
    return {
      number,
      written,
      arguments:
        values === undefined ? null : digestArguments(values, Object.keys(values)).toString('base64'),
      schema: digestTool(tool).toString('base64'),
    };
  });
  const key = { account_id: scope.accountId, task_id: taskId };
  tx.send(addAll, { ...key, granted_by: scope.actorId, now, grants: encodeJson(rows) });
}

/** A grant that could never hold is a mistake, and so is the limit of one that is not needed. */
function requireTool(tools: Tools, grant: AiGrantedPermission, index: number) {
  const { toolName, arguments: values = {}, ...limits } = grant;
  const refuse = (member: string, given: string, what: string, known: readonly string[]) =>
    problem('grant-refused', { path: `body.grantedPermissions[${index}].${member}`, given, what, known });
  const tool = tools.find(toolName);
  if (tool === undefined) {
    const known = tools.list('ACT').filter(({ changes }) => changes);
    throw refuse(
      'toolName',
      toolName,
      'tool that changes something',
      known.map(({ name }) => name),
    );
  }
  const known = Object.keys((tool.inputSchema as TObject).properties);
  const unknown = Object.keys(values).find((name) => !known.includes(name));
  if (unknown !== undefined) throw refuse('arguments', unknown, `argument of ${toolName}`, known);
  const limit = Object.keys({ ...limits, ...(grant.arguments && { arguments: values }) })[0];
  if (limit !== undefined && !tool.changes)
    throw problem('grant-without-effect', { path: `body.grantedPermissions[${index}].${limit}`, toolName });
  return tool;
}

export function replaceGrants(tx: Transaction, input: Given): void {
  tx.send(removeAll, { account_id: input.scope.accountId, task_id: input.taskId });
  addGrants(tx, input);
}
