/** The tool that queries the warehouse of the environment of the task. */
import { queryRowLimit, queryWarehouse } from '@headgate/contract';
import { Type } from 'typebox';
import { countOf } from '../../kernel/count-of.ts';
import { declareTool, object, quote, requireEnvironment, type ToolServices } from './declared-tool.ts';
import { hideSecretColumns } from './secret-columns.ts';
import { toCaller } from './tool/actors.ts';
import type { Tool } from './tool/tool.ts';

const defaultRows = 50;

export function createQueryTool(services: ToolServices): Tool {
  return declareTool({
    name: 'query_warehouse',
    description:
      'Run one SELECT in the warehouse of the environment of the task. It can change nothing. To see the tables: select table_name from information_schema.tables.',
    input: object({
      sql: Type.String({ minLength: 1, maxLength: 20_000 }),
      maxRows: Type.Optional(
        Type.Integer({ minimum: 1, maximum: queryRowLimit, description: `Default: ${defaultRows}` }),
      ),
    }),
    inEnvironment: true,
    returnsRows: true,
    async run(context, { sql, maxRows = defaultRows }) {
      const environmentName = requireEnvironment(context);
      const { columns, rows, isCut } = await services.platform.call(
        queryWarehouse,
        toCaller(context),
        { params: { projectId: context.task.projectId }, body: { environmentName, sql, maxRows } },
        context.callId,
      );
      const hidden = hideSecretColumns(sql, columns, rows);
      const lines = [columns, ...hidden.rows].map((row) => JSON.stringify(row));
      const end = isCut ? 'and more rows' : countOf(rows.length, 'row');
      return [...lines, end, ...hidden.names.map(explainMask)].join('\n');
    },
  });
}

const explainMask = (name: string) =>
  `All texts are masked because the query names ${quote(name)}, which looks like a secret, without a column of that name in the result.`;
