/** Format a duration: tenths below ten seconds, otherwise whole seconds. Running durations have whole seconds. */
export function duration(seconds: number, running = false): string {
  const whole = Math.round(seconds);
  if (whole >= 60) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return running || seconds >= 9.95 ? `${whole} s` : `${seconds.toFixed(1)} s`;
}
