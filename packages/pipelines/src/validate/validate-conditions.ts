/** Conditions of `if` that do not decide what they seem to. */
import { assignedVariable, assigns } from '../format/assignments.ts';
import type { Orchestration, OrchestrationComponent, Plain, PlainMap } from '../format/pipeline.ts';
import { TemplateError, unwrapExpression } from '../format/template.ts';
import type { Report } from './finding.ts';

export function checkCondition(
  { name, type, parameters }: OrchestrationComponent,
  { variables }: Orchestration,
  report: Report,
): void {
  if (type !== 'if') return;
  if (!isAdvanced(parameters)) {
    for (const row of rowsOf(parameters.condition)) {
      const message = comparesTexts(row, variables.get(row[0] ?? '')?.type === 'TEXT');
      const at = ['parameters', 'condition'];
      if (message !== undefined)
        report({ component: name, at, code: 'variable-type', message, level: 'warning' });
    }
    return;
  }
  const variable = assignedIn(parameters.condition1, (each) => variables.has(each));
  if (variable === undefined) return;
  const at = ['parameters', 'condition1'];
  report({ component: name, at, code: 'invalid-expression', message: assigns(variable), level: 'error' });
}

export const isAdvanced = ({ mode }: PlainMap) =>
  typeof mode === 'string' && mode.trim().toLowerCase() === 'advanced';

function assignedIn(condition: Plain | undefined, isVariable: (name: string) => boolean): string | undefined {
  if (typeof condition !== 'string') return undefined;
  try {
    return assignedVariable(unwrapExpression(condition), isVariable);
  } catch (error) {
    // An expression without an end is reported by itself.
    if (error instanceof TemplateError) return undefined;
    throw error;
  }
}

const ordering = /^\s*(?:greater than|less than|between)\b/i;

/** A TEXT variable that is compared with a number by size. */
function comparesTexts(
  [variable, , comparator = '', value = '']: string[],
  isText: boolean,
): string | undefined {
  const isNumber = value.trim() !== '' && Number.isFinite(Number(value));
  if (!isText || !isNumber || !ordering.test(comparator)) return undefined;
  return `the variable "${variable}" is TEXT, so "${comparator}" compares texts, in which 9 is greater than 10: make the variable NUMBER to compare numbers`;
}

function rowsOf(rows: Plain | undefined): string[][] {
  if (!Array.isArray(rows)) return [];
  return rows.flatMap((row: Plain) =>
    Array.isArray(row) ? [row.map((cell) => (typeof cell === 'string' ? cell : ''))] : [],
  );
}
