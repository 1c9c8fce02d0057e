//! Names of devices and browsers in plain words.
//!
//! User agents are not parsed: the first mark that occurs in one decides, so the
//! order of both tables matters.

use pia_identity::SignInDevice;
use pia_kernel::Language;

use crate::ui::Text;

/// Browsers by their marks in user agents. The first match decides, since most
/// browsers also have the marks of others.
const BROWSERS: &[(&str, &str)] = &[
    ("Edg/", "Edge"),
    ("EdgA/", "Edge"),
    ("EdgiOS/", "Edge"),
    ("OPR/", "Opera"),
    ("Vivaldi/", "Vivaldi"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("FxiOS/", "Firefox"),
    ("Firefox/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chromium/", "Chromium"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
];

/// Operating systems by their marks in user agents.
const SYSTEMS: &[(&str, &str)] = &[
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("CrOS", "ChromeOS"),
    ("Windows", "Windows"),
    ("Macintosh", "macOS"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
];

/// Returns the name of the program and the system of a device: `Chrome on
/// Windows`. An unknown user agent is returned unchanged.
pub(crate) fn device_name(language: Language, device: &SignInDevice) -> String {
    let agent = device.user_agent.as_deref().unwrap_or_default();
    let find = |names: &[(&str, &'static str)]| {
        names.iter().find(|it| agent.contains(it.0)).map(|it| it.1)
    };
    if let Some(version) = &device.app_version {
        let app = APP.fill(language, &[version]);
        return match device.os_version.as_deref().or_else(|| find(SYSTEMS)) {
            Some(system) => ON.fill(language, &[&app, system]),
            None => app,
        };
    }

    match (find(BROWSERS), find(SYSTEMS)) {
        (Some(browser), Some(system)) => ON.fill(language, &[browser, system]),
        (Some(browser), None) => browser.to_owned(),
        (None, _) if agent.is_empty() => UNKNOWN.of(language).to_owned(),
        (None, _) => agent.to_owned(),
    }
}

const ON: Text = Text::new("{} on {}", "{} unter {}");
const APP: Text = Text::new("Pia app {}", "Pia-App {}");
const UNKNOWN: Text = Text::new("Unknown device", "Unbekanntes Gerät");

#[cfg(test)]
mod tests {
    use super::*;

    fn name(agent: &str) -> String {
        let user_agent = (!agent.is_empty()).then(|| agent.to_owned());
        let device = SignInDevice { user_agent, ..SignInDevice::default() };
        device_name(Language::En, &device)
    }

    #[test]
    fn browsers_are_recognised_although_they_claim_to_be_others() {
        let windows = "Mozilla/5.0 (Windows NT 10.0; Win64; x64)";
        let webkit = "AppleWebKit/537.36 (KHTML, like Gecko)";
        let mac = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)";
        let phone = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X)";
        let android = "Mozilla/5.0 (Linux; Android 14; Pixel 8)";
        for (agent, expected) in [
            (format!("{windows} {webkit} Chrome/130.0.0.0 Safari/537.36"), "Chrome on Windows"),
            (
                format!("{windows} {webkit} Chrome/130.0.0.0 Safari/537.36 Edg/130.0.0.0"),
                "Edge on Windows",
            ),
            (format!("{windows} Gecko/20100101 Firefox/132.0"), "Firefox on Windows"),
            (format!("{mac} AppleWebKit/605.1.15 Version/18.1 Safari/605.1.15"), "Safari on macOS"),
            (format!("{phone} CriOS/130.0 Mobile/15E148 Safari/604.1"), "Chrome on iPhone"),
            (format!("{android} {webkit} Chrome/130.0.0.0 Safari/537.36"), "Chrome on Android"),
            (
                "Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Firefox/132.0".to_owned(),
                "Firefox on Linux",
            ),
        ] {
            assert_eq!(name(&agent), expected, "{agent}");
        }
    }

    #[test]
    fn other_programs_keep_their_own_name() {
        assert_eq!(name("curl/8.5.0"), "curl/8.5.0");
        assert_eq!(name(""), "Unknown device");
    }

    #[test]
    fn the_app_is_named_by_its_version() {
        let app = SignInDevice {
            app_version: Some("1.4.2".to_owned()),
            os_version: Some("Windows 11".to_owned()),
            user_agent: Some("PiaClient/1".to_owned()),
            ..SignInDevice::default()
        };

        assert_eq!(device_name(Language::En, &app), "Pia app 1.4.2 on Windows 11");
        assert_eq!(device_name(Language::De, &app), "Pia-App 1.4.2 unter Windows 11");
        let without_system = SignInDevice { os_version: None, ..app };
        assert_eq!(device_name(Language::En, &without_system), "Pia app 1.4.2");
    }
}
