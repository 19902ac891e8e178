/** Well-formed Unicode without NUL, as the interface requires, cut to a limit. */
export function cleanText(text: string, limit: number): string {
  const clean = text.toWellFormed().replaceAll('\0', '\uFFFD');
  return clean.length <= limit ? clean : `${clean.slice(0, limit - 1).toWellFormed()}…`;
}
