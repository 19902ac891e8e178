/** Tools that read pipelines: list them, check them, and show their SQL. */
import { Type } from 'typebox';
import { isPipelinePath } from '../../delivery/artifacts/index.ts';
import { countOf } from '../../kernel/count-of.ts';
import { declareTool, object, PathInput, type ToolServices } from './declared-tool.ts';
import { listVisible, requireText } from './file-tools.ts';
import { findFindings, renderFinding } from './findings.ts';
import { createSqlPlanner, planSql } from './planned-sql.ts';
import type { Tool } from './tool/tool.ts';
import { decodeText, isInFolder, openCopy, requirePath } from './working-copy.ts';

const pipelineLimit = 300;
const findingLimit = 100;
const descriptionLength = 200;

export function createPipelineTools(services: ToolServices): Tool[] {
  return [createListTool(services), createValidateTool(services), createPlanTool(services)];
}

function createListTool(services: ToolServices): Tool {
  return declareTool({
    name: 'list_pipelines',
    description: 'List the pipelines of the project with their types, public variables and notes.',
    input: object({}),
    async run(context) {
      const copy = await openCopy(services, context);
      const files = listVisible(context, copy).filter(({ path }) => isPipelinePath(path));
      const lines: string[] = [];
      for await (const { path, bytes } of copy.readAll(files.slice(0, pipelineLimit))) {
        const order = { path, text: decodeText(bytes) ?? '\0', most: 0 };
        const { outline } = await services.readPipeline(order, context.task.accountId);
        if (outline === undefined) {
          lines.push(`${path}: cannot be read; validate it`);
          continue;
        }
        const { type, variables, description } = outline;
        const publicNames = variables
          .filter(({ visibility }) => visibility === 'PUBLIC')
          .map(({ name }) => name);
        const notes = description.replaceAll(/\s+/g, ' ').slice(0, descriptionLength);
        const parts = [type, ...(publicNames.length === 0 ? [] : [`variables ${publicNames.join(', ')}`])];
        lines.push(`${path}: ${parts.join('; ')}${notes === '' ? '' : `; ${notes}`}`);
      }
      if (files.length > pipelineLimit) lines.push(`and ${files.length - pipelineLimit} more`);
      return lines.length === 0 ? 'The project has no pipelines.' : lines.join('\n');
    },
  });
}

function createValidateTool(services: ToolServices): Tool {
  return declareTool({
    name: 'validate_pipeline',
    description:
      'Check pipelines as an upload does, with the edits of this task. Without a path, checks all of them.',
    input: object({ path: Type.Optional(PathInput) }),
    async run(context, { path }) {
      const copy = await openCopy(services, context);
      if (path !== undefined) await requireText(context, copy, path);
      const { summary, errorsTotal } = await findFindings(services, context, copy);
      const found = summary.warnings.filter((each) =>
        path === undefined ? isInFolder(context, each.path) : each.path === path,
      );
      if (found.length === 0) return 'No findings: the pipelines are valid.';
      const shown = found.slice(0, findingLimit).map(renderFinding);
      const more = found.length - shown.length;
      const total = `${countOf(errorsTotal, 'error')} in the whole project.`;
      return [...shown, ...(more === 0 ? [] : [`and ${more} more`]), total].join('\n');
    },
  });
}

function createPlanTool(services: ToolServices): Tool {
  const planner = createSqlPlanner();
  return declareTool({
    name: 'plan_sql',
    description:
      'Show the SQL of a transformation, with the edits of this task and the default values of its variables. Nothing runs.',
    input: object({ path: PathInput }),
    async run(context, { path }) {
      const copy = await openCopy(services, context);
      requirePath(context, path);
      return planSql(services, planner, context, { path, text: await requireText(context, copy, path) });
    },
  });
}
