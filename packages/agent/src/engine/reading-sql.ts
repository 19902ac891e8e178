/** Tells statements that only read from those that may write. */

const lead = String.raw`^(?:\s|\(|--[^\n]*\n|/\*.*?\*/)*`;
const session = new RegExp(`${lead}(?:begin|start|commit|end|rollback|abort|set|use)\\b`, 'is');
const query = new RegExp(
  `${lead}(?:select|with|values|table|from|show|describe|desc|explain|pivot|unpivot)\\b`,
  'is',
);
/**
 * A WITH or EXPLAIN may stand before a statement that writes, a query may advance a sequence, and `lead` does not
 * know comments inside of comments.
 */
const writing = /\b(?:insert|update|delete|merge|create|copy|nextval|drop|alter|truncate)\b/i;

/** False if it may write. */
export function onlyReads(sql: string): boolean {
  return (session.test(sql) || query.test(sql)) && !writing.test(sql);
}
