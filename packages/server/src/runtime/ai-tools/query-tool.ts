/** The tool that queries the warehouse of the environment of the task. */
import { queryRowLimit, queryWarehouse } from '@headgate/contract';
import { Type } from 'typebox';
import { toCaller } from './actors.ts';
import { declareTool, object, requireEnvironment, type ToolServices } from './declared-tool.ts';
import { isSecretName } from './masking.ts';
import type { Tool } from './tool.ts';

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
      const lines = [columns, ...hideSecretColumns(columns, rows)].map((row) => JSON.stringify(row));
      return [...lines, isCut ? 'and more rows' : `${rows.length} rows`].join('\n');
    },
  });
}

type Rows = readonly (readonly unknown[])[];

/** A value is masked by the name of its column, as one in a file is by the name before it. */
function hideSecretColumns(columns: readonly string[], rows: Rows): Rows {
  const isSecret = columns.map(isSecretName);
  if (!isSecret.includes(true)) return rows;
  return rows.map((row) =>
    row.map((value, index) => (isSecret[index] && value !== null ? '[masked]' : value)),
  );
}
