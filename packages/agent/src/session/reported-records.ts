/** What steps record for a restart, as it is reported: no value that the agent has to mask leaves it. */
import type { CarriedVariable, StepRecord } from '@headgate/contract';
import { nameLimit } from '@headgate/contract/without-schemas';
import { cleanText } from './clean-text.ts';

type Mask = (text: string) => string;

export function limitRecord(record: StepRecord, mask: Mask): StepRecord {
  const { next, variables } = record;
  return {
    ...record,
    ...(next === undefined ? {} : { next: next.map((name) => cleanText(mask(name), nameLimit)) }),
    ...(variables === undefined ? {} : { variables: variables.map((each) => limitValue(each, mask)) }),
  };
}

function limitValue(variable: CarriedVariable, mask: Mask): CarriedVariable {
  const { name, value } = variable;
  const cells = Array.isArray(value) ? value.flat() : [value];
  const isSecret = cells.some((cell) => typeof cell === 'string' && mask(cell) !== cell);
  return isSecret ? { name, lost: 'secret' } : variable;
}
