// Light or dark: as the system has it, until the reader says otherwise.

const KEY = "equirl-theme";

export function startTheme(button, onChange) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const kept = () => {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null;
    }
  };
  const apply = () => {
    document.documentElement.dataset.theme = kept() ?? (system.matches ? "dark" : "light");
    onChange();
  };
  button.addEventListener("click", () => {
    const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    try {
      localStorage.setItem(KEY, next);
    } catch {
      document.documentElement.dataset.theme = next;
    }
    apply();
  });
  system.addEventListener("change", apply);
  apply();
}
