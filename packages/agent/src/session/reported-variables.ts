/** Variables as they are reported: masked again, and within the bounds of the protocol whatever a run records. */
import type { RunVariable, RunVariables } from '@headgate/contract';
import { gridColumnLimit, nameLimit, textLimit } from '@headgate/contract/without-schemas';
import { cleanText } from './clean-text.ts';

type Mask = (text: string) => string;

export function limitVariables({ pipelineRunId, variables }: RunVariables, mask: Mask): RunVariables {
  return {
    pipelineRunId,
    variables: variables
      .filter(({ name }) => name !== '')
      .map((variable) => ({
        ...variable,
        name: cleanText(variable.name, nameLimit),
        ...limitValue(variable.value, mask),
      })),
  };
}

function limitValue(value: RunVariable['value'], mask: Mask): Pick<RunVariable, 'value' | 'truncated'> {
  if (value === undefined || typeof value === 'number') return {};
  if (typeof value === 'string') return { value: cleanText(mask(value), textLimit) };
  const columns = value.columns.slice(0, gridColumnLimit).map(({ name, type }) => ({
    name: cleanText(name, nameLimit) || '(no name)',
    type,
  }));
  const rows = value.rows.map((row) =>
    row
      .slice(0, gridColumnLimit)
      .map((cell) => (typeof cell === 'string' ? cleanText(mask(cell), textLimit) : cell)),
  );
  const isCut = value.columns.length > gridColumnLimit;
  return { value: { columns, rows }, ...(isCut ? { truncated: true } : {}) };
}
