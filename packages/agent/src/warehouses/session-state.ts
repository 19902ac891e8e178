/** What a session has that is lost with it. */

const settings = /^(?:\s|--[^\n]*\n|\/\*.*?\*\/)*(?:set|reset|use|pragma|prepare)\b/is;
const temporary =
  /\bcreate\s+(?:or\s+replace\s+)?(?:temp|temporary)\b|\btable\s+(?:if\s+not\s+exists\s+)?"?temp"?\s*\.|\bsetseed\b/i;

/** Whether a later statement may give another result in another session. */
export const leavesState = (sql: string) => settings.test(sql) || temporary.test(sql);
