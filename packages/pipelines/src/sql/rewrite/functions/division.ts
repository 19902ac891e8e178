/** Division as the warehouses do it: a divisor of 0 is an error. In DuckDB the result would be infinite or NULL. */
import { bindOnce, group, readCallName } from './expressions.ts';

const failure = "error('division by zero')";

/** The divisor of `/` and `%`, which fails at the run if it is 0. */
export function refuseZero(divisor: string): string {
  if (/^-?\d+(?:\.\d+)?$/.test(divisor))
    return Number(divisor) === 0 ? `CAST(${failure} AS INTEGER)` : divisor;
  if (readCallName(divisor) === 'nullif' && /,\s*0\)$/.test(divisor)) return divisor;
  return bindOnce([divisor], (name) => `(CASE WHEN ${name} = 0 THEN ${failure} ELSE ${group(name)} END)`);
}
