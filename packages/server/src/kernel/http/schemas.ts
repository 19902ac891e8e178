/**
 * Ajv as requests are checked by it. Bodies say the type of a value themselves; text of an address or a
 * header is read as what is asked for.
 */
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';

const options = { useDefaults: true, strict: false, strictNumbers: true, ownProperties: true } as const;

/** Of a date-time more is asked than its form: a leap second is one that no clock here knows. */
function addHeadgateFormats(ajv: Ajv): Ajv {
  (addFormats as unknown as (ajv: Ajv) => Ajv)(ajv);
  const { validate } = ajv.formats['date-time'] as { validate: (text: string) => boolean };
  return ajv.addFormat('date-time', (text: string) => validate(text) && !Number.isNaN(Date.parse(text)));
}

/** Stops at the first fault; `faultsOf` names them all. */
export const bodySchemas = addHeadgateFormats(new Ajv(options));
/** Goes on after a fault, so that all text that can be read as a number or boolean is. */
export const textSchemas = addHeadgateFormats(new Ajv({ ...options, allErrors: true, coerceTypes: 'array' }));

export function isFormat(format: string, text: string): boolean {
  const known = bodySchemas.formats[format];
  if (known instanceof RegExp) return known.test(text);
  if (typeof known === 'function') return known(text);
  if (typeof known === 'object' && typeof known.validate === 'function')
    return (known.validate as (text: string) => boolean)(text);
  throw new Error(`Unknown format ${format}.`);
}
