import { Cloud, CloudDrizzle, type LucideIcon, Sun } from "lucide-react";

type Weather = { city: string; days: { day: string; celsius: number; sky: string }[] };

const SKIES: Record<string, LucideIcon> = { clear: Sun, cloudy: Cloud, "light rain": CloudDrizzle };

/** A data part of the demo agent: the weather of some days. */
export function Forecast({ data: { city, days } }: { data: Weather }) {
  return (
    <figure className="rounded-xl border bg-card p-4">
      <figcaption className="text-sm font-medium">The weather in {city}</figcaption>
      <ol className="mt-3 flex gap-2 overflow-x-auto">
        {days.map(({ day, celsius, sky }) => {
          const Sky = SKIES[sky] ?? Cloud;
          return (
            <li key={day} className="flex min-w-16 flex-1 flex-col items-center gap-1.5 text-center text-sm">
              <span className="text-muted-foreground">{day}</span>
              <Sky className="size-5" aria-hidden />
              <span className="sr-only">{sky}</span>
              <span className="tabular-nums">{celsius} °C</span>
            </li>
          );
        })}
      </ol>
    </figure>
  );
}
